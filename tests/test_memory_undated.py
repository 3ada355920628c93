"""Undated lines: stored in their place, shown without a date, and never found by a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread import Comparison, Filter, Memory, NewLine
from everthread.bank.stats import lines_by_month
from everthread.chat.events import parse_event
from everthread.cli.common import render_hit, render_line
from everthread.common.keys import META_UNDATED
from everthread.errors import BadLine
from everthread.recall.rerank.base import RecencyImportance
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.transfer import importing, jsonl

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def write_undated(memory: Memory) -> None:
    """Write three undated lines between two dated ones."""
    memory.observe("The harbour was quiet.", session="s", said_at=NOON)
    texts = ("My sister Mia moved to Lisbon.", "She rents a flat by the harbour.", "Her dog is called Olive.")
    memory.observe_many([NewLine(text, session="s", undated=True) for text in texts])
    memory.observe("The harbour is loud.", session="s")


def test_an_undated_line_is_found_and_shown_in_its_place_without_a_date(memory: Memory) -> None:
    write_undated(memory)
    assert [line.is_undated for line in memory.lines()] == [False, True, True, True, False]
    (hit,) = memory.recall("Where does Mia live?", 1)
    assert [line.seq for line in hit.passage][:3] == [1, 2, 3]
    text = memory.context("Where does Mia live?", gate=False).text
    undated = text.index("[at an unknown time]\nuser: My sister Mia moved to Lisbon.\nuser: She rents a flat")
    assert text.index("The harbour was quiet.") < undated < text.index("The harbour is loud.")
    assert text.count("[") == 3


def test_an_undated_line_is_not_found_by_a_time(memory: Memory) -> None:
    write_undated(memory)
    day = timedelta(days=1)
    tomorrow = datetime.now(UTC) + day
    for where in (
        Filter(since=NOON - day),
        Filter(until=tomorrow),
        Filter(since=NOON - day, metadata={}, session="s", key_prefix=None, role="user"),
        Filter(condition=Comparison("said_at", ">", NOON - day)),
        Filter(condition=Comparison("said_at", "exists", True)),
    ):
        assert {line.seq for line in memory.lines(where)} == {1, 5}
        assert {hit.seq for hit in memory.recall("harbour", 9, where=where)} <= {1, 5}
        seqs = memory.store.filter_seqs(memory.bank, where, None)
        assert seqs is not None
        assert seqs.tolist() == [1, 5]
    assert {hit.seq for hit in memory.recall("What did we talk about yesterday?", 9, as_of=tomorrow)} == {5}
    days = {hit.seq: hit.signals["day"] for hit in memory.recall(f"Mia on {datetime.now(UTC):%d %B %Y}", 9)}
    assert {seq for seq, day in days.items() if day} == {5}
    assert [(month.lines, month.sessions) for month in lines_by_month(memory.store, memory.bank)] == [(1, 1), (1, 1)]
    assert memory.recall("Where does Mia live?", 1, as_of=NOON + day)[0].seq == 1  # the others were stored later


def test_a_correction_of_an_undated_line_is_undated(memory: Memory) -> None:
    write_undated(memory)
    assert memory.correct(2, "My sister Mia moved to Porto.").is_undated
    assert memory.observe("Is it?", metadata={META_UNDATED: True}, said_at=NOON).is_undated
    assert META_UNDATED not in memory.observe("It isn't.", metadata={META_UNDATED: "yes"}).metadata


def test_an_undated_line_with_a_time_is_refused(memory: Memory) -> None:
    with pytest.raises(BadLine, match=r"an undated line can't have a said_at, got .*2024.*omit one of them"):
        memory.observe("Hm.", undated=True, said_at=NOON)
    assert memory.stats().lines == 0


def test_an_export_has_no_time_of_undated_lines_and_an_import_leaves_them_undated(
    memory: Memory, tmp_path: Path
) -> None:
    write_undated(memory)
    exported = list(jsonl.format_rows(memory.lines()))
    rows = [json.loads(row) for row in exported]
    assert ["said_at" in row for row in rows] == [True, False, False, False, True]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(exported))
    with Memory.open("bob", store=tmp_path, embedder=HashEmbedder()) as other:
        for target, added in ((other, 5), (other, 0), (memory, 0)):
            assert importing.import_lines(target, importing.check_file(path, None))["added"] == added
        assert [(line.text, line.is_undated) for line in other.lines()] == [
            (line.text, line.is_undated) for line in memory.lines()
        ]


def test_the_lines_of_a_printed_hit_are_under_their_own_dates(memory: Memory) -> None:
    write_undated(memory)
    (first,) = memory.recall("The harbour was quiet.", 1)
    assert render_hit(replace(first, passage=first.passage[:2]), signals=False, query="").splitlines()[1:] == [
        "    > user: The harbour was quiet.",
        "      [at an unknown time]",
        "      user: My sister Mia moved to Lisbon.",
    ]
    (second,) = memory.recall("My sister Mia moved to Lisbon.", 1)
    assert render_hit(replace(second, passage=second.passage[:3]), signals=False, query="").splitlines()[1:] == [
        "      [Wednesday, 1 May 2024, 12:00]",
        "      user: The harbour was quiet.",
        "      [at an unknown time]",
        "    > user: My sister Mia moved to Lisbon.",
        "      user: She rents a flat by the harbour.",
    ]


def test_no_text_about_undated_lines_names_a_day(memory: Memory) -> None:
    line = memory.observe("I moved to Lisbon with my sister Mia.", speaker="Ann", undated=True)
    scribe = ExtractiveScribe()
    assert scribe.summarize([line], "Ann") == "- I moved to Lisbon with my sister Mia."
    assert scribe.rewrite_memory("I moved", [line]) == "Ann said: I moved"
    assert render_line(line) == f"     1  {'':16}  Ann: I moved to Lisbon with my sister Mia."
    planned = memory.observe("I have an exam tomorrow.", undated=True)
    assert parse_event(planned) is None
    assert parse_event(memory.observe("I have an exam tomorrow."))


def test_an_undated_line_is_not_recent(memory: Memory) -> None:
    memory.observe("The ferry is late.", said_at=NOON)
    memory.observe("The ferry is late.", undated=True)
    reranker = RecencyImportance(NOON + timedelta(days=1), half_life_days=10, weights=(0, 1, 0))
    assert [hit.seq for hit in memory.recall("the ferry is late", 2, rerank=reranker)] == [1, 2]
