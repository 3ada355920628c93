from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from everthread.bench.fact_updates import Update, UpdateResult, as_json, measure_updates, table
from everthread.facts.types import Statement
from everthread.types import Line, NewLine

TEXTS = ("Nora home Porto", "Nice weather.", "Nora home York")
MOMENTS = [datetime(2024, month, 1, tzinfo=UTC) for month in (3, 4, 5)]
MOVED = Update(
    "moved",
    "en",
    "open",
    tuple(NewLine(text, "Nora", said_at=moment) for text, moment in zip(TEXTS, MOMENTS, strict=True)),
    "Nora",
    "home",
    ("Porto",),
    ("the city of York", "York"),
    MOMENTS[2],
)


def read_words(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
    """Read a fact from each line of three words."""
    split = [(line, line.text.split(" ")) for line in lines]
    return [
        Statement(words[0], words[1], words[2], (line.seq,), line.said_at) for line, words in split if len(words) == 3
    ]


def test_the_new_fact_is_found_for_the_present_and_the_old_one_for_the_moment_before() -> None:
    assert measure_updates([MOVED], read_words) == [UpdateResult(MOVED, is_new_now=True, was_old_before=True)]


def test_a_fact_that_is_not_found_or_has_another_value_counts_as_wrong() -> None:
    others = [replace(MOVED, new=("Leeds",)), replace(MOVED, subject="Mia"), replace(MOVED, old=("Lisbon",))]
    results = measure_updates(others, read_words)
    assert [(result.is_new_now, result.was_old_before) for result in results] == [
        (False, True),
        (False, False),
        (True, False),
    ]


def test_shares_are_of_each_part_and_language_and_of_several_languages() -> None:
    held_out = replace(MOVED, part="held-out")
    german = replace(MOVED, language="de")
    results = [UpdateResult(MOVED, True, True), UpdateResult(german, True, False), UpdateResult(held_out, False, False)]
    rows = [
        (row["part"], row["language"], row["updates"], row["new_now"], row["old_before"]) for row in as_json(results)
    ]
    assert rows == [
        ("open", "en", 1, 100, 100),
        ("open", "de", 1, 100, 0),
        ("open", "all", 2, 100, 50),
        ("held-out", "en", 1, 0, 0),
    ]
    assert table(results).splitlines()[3].split() == ["open", "all", "2", "100.0", "50.0"]
