"""Units, jobs, settings and ended sessions of a memory; excluded lines; quotes of recalled lines."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import Filter, Memory, NewLine
from everthread.common.keys import META_ECHO
from everthread.errors import BadInput, BadQuery, ModelError, NotFound
from everthread.factory import RECIPES
from everthread.recall.types import Query
from everthread.recipes.base import Recipe
from everthread.recipes.packabby import Packabby
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.copy_bank import copy_bank
from everthread.types import JSONValue, NewUnit, ScribeJob, Unit, Vectors

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=9))


def fill(memory: Memory, lines: int = 6, session: str = "s") -> None:
    memory.observe_many(
        NewLine(f"Line {n} tells of topic{n}.", said_at=NOON + timedelta(minutes=n), session=session)
        for n in range(1, lines + 1)
    )


def note(last: int, text: str = "A note.", first: int = 1, kind: str = "note", sources: Sequence[int] = ()) -> NewUnit:
    return NewUnit(kind, text, first, last, NOON + timedelta(minutes=last), sources=tuple(sources))


def current(memory: Memory, kind: str = "note") -> list[int]:
    return [unit.id for unit in memory.units(kind, only_current=True)]


# ---------------------------------------------------------------------------- units


def test_a_stored_unit_equals_the_given_one(memory: Memory) -> None:
    fill(memory)
    said = datetime(2024, 5, 1, 21, 2, 3, 4, EAST)
    new = NewUnit("fact", "Ann has a \U0001f9f5.", 2, 4, said, 7.3, "hobby", {"n": [1, None], "ü": "x"}, (2, 4))
    stored = memory.add_unit(new)
    assert memory.units() == memory.units("fact") == [stored]
    assert repr(stored.said_at) == repr(said)
    expected = Unit(1, "fact", new.text, 2, 4, said, stored.valid_from, None, 7.3, "hobby", {"n": [1, None], "ü": "x"})
    assert stored == expected
    assert memory.units("note") == []


def test_units_are_numbered_by_kind(memory: Memory) -> None:
    fill(memory)
    stored = [memory.add_unit(note(n, kind=kind)) for n, kind in ((1, "b"), (2, "a"), (3, "b"))]
    assert [(unit.kind, unit.id) for unit in stored] == [("b", 1), ("a", 1), ("b", 2)]
    assert memory.units() == [stored[1], stored[0], stored[2]]
    assert memory.stats().units == {"a": 1, "b": 2}


def test_a_superseded_unit_is_no_longer_current(memory: Memory) -> None:
    fill(memory)
    first = memory.add_unit(note(2))
    second = memory.add_unit(note(4), supersedes=first.id)
    before, after = memory.units("note")
    assert (before.valid_to, after.valid_to, after.supersedes) == (second.valid_from, None, 1)
    assert memory.units("note", only_current=True) == [second]
    assert memory.stats().units == {"note": 2}


@pytest.mark.parametrize("why", ["never there", "another kind", "superseded", "retracted", "forgotten"])
def test_superseding_a_unit_that_is_not_current_is_rejected(memory: Memory, why: str) -> None:
    fill(memory)
    job = ScribeJob("notes", "s", 1, 6, NOON)
    memory.enqueue(job)
    if why != "never there":
        memory.add_unit(note(2, kind="fact" if why == "another kind" else "note"))
    if why == "superseded":
        memory.add_unit(note(3), supersedes=1)
    if why == "retracted":
        memory.retract(2)
    if why == "forgotten":
        memory.forget(seq=2)
    before = memory.units()
    with pytest.raises(NotFound, match=r"no current note 1 .* Read the current one and write again"):
        memory.add_unit(note(6), supersedes=1, finished_job=job)
    assert memory.units() == before
    assert memory.jobs() == [job]


@pytest.mark.parametrize("how", ["retract", "forget"])
def test_a_unit_with_a_removed_source_is_rejected(memory: Memory, how: str) -> None:
    fill(memory)
    job = ScribeJob("summary", "s", 1, 6, NOON)
    memory.enqueue(job)
    if how == "retract":
        memory.retract(3)
    else:
        memory.forget(seq=3)
    with pytest.raises(NotFound, match="no longer has line 3, a source of the new summary"):
        memory.add_unit(note(6, kind="summary", sources=(1, 2, 3)), finished_job=job)
    assert memory.units() == []
    assert memory.jobs() == [job]
    memory.add_unit(note(6, kind="summary", sources=(1, 2, 4)), finished_job=job)
    assert memory.jobs() == []


def test_a_unit_that_derives_from_missing_lines_is_rejected(memory: Memory) -> None:
    fill(memory)
    with pytest.raises(NotFound, match="no line 7"):
        memory.add_unit(note(7))


def test_the_previous_note_is_current_again_when_a_note_is_removed(memory: Memory) -> None:
    fill(memory)
    memory.add_unit(note(2))
    memory.add_unit(note(4), supersedes=1)
    memory.add_unit(note(6), supersedes=2)
    memory.retract(5)
    assert current(memory) == [2]
    memory.forget(seq=3)
    assert current(memory) == [1]
    assert [unit.id for unit in memory.units("note")] == [1]
    memory.forget(seq=1)
    assert memory.units("note") == []


def test_removing_a_fact_makes_only_its_superseded_fact_current(memory: Memory) -> None:
    fill(memory)
    for seq, before in ((1, None), (2, 1), (3, None), (4, 3), (5, None)):
        memory.add_unit(note(seq, first=seq, kind="fact"), supersedes=before)
    assert current(memory, "fact") == [2, 4, 5]
    memory.retract(5)
    assert current(memory, "fact") == [2, 4]
    memory.retract(2)
    assert current(memory, "fact") == [1, 4]


def test_removing_a_unit_links_its_predecessor_and_successor(memory: Memory) -> None:
    fill(memory)
    for seq, before in ((1, None), (2, 1), (3, 2)):
        memory.add_unit(note(seq, first=seq, kind="fact"), supersedes=before)
    memory.forget(seq=2)
    assert [(unit.id, unit.supersedes) for unit in memory.units("fact")] == [(1, None), (3, 1)]
    assert current(memory, "fact") == [3]
    memory.forget(seq=3)
    assert current(memory, "fact") == [1]


STEPS = st.lists(
    st.tuples(st.sampled_from(["note", "fact", "retract", "forget"]), st.integers(1, 12), st.integers(1, 12)),
    max_size=12,
)


@examples(60)
@given(steps=STEPS)
def test_units_are_removed_with_their_lines_and_at_most_one_note_is_current(
    steps: list[tuple[str, int, int]],
) -> None:
    retracted: set[int] = set()
    forgotten: set[str] = set()
    spans: dict[str, range] = {}  # by a word that only this unit contains: the lines of its span
    dropped: set[str] = set()
    with TemporaryDirectory() as folder, Memory.open("alice", store=folder, embedder=HashEmbedder()) as memory:
        fill(memory, 12)
        for number, (step, one, other) in enumerate(steps):
            first, last = sorted((one, other))
            if step in ("retract", "forget"):
                try:
                    memory.retract(one) if step == "retract" else memory.forget(seq=one)
                except NotFound:
                    continue
                hit = {word for word, lines in spans.items() if one in lines}
                forgotten |= hit if step == "forget" else set()
                dropped |= set() if one in retracted and step == "retract" else hit
                retracted.add(one)
            else:
                word = f"zqu{number:03d}"
                before = memory.units("note", only_current=True) if step == "note" else []
                unit = note(last, f"{word} it is.", 1 if step == "note" else first, step)
                memory.add_unit(unit, supersedes=before[0].id if before else None)
                spans[word] = range(unit.first_seq, last + 1)
            stored = {unit.text.split()[0] for unit in memory.units()}
            assert stored == spans.keys() - dropped
            notes = memory.units("note")
            assert [unit.id for unit in notes if unit.valid_to is None] == [unit.id for unit in notes][-1:]
        assert memory.store.check("alice") == []
        data = b"".join(path.read_bytes() for path in Path(folder).iterdir())
        assert [word for word in forgotten if word.encode() in data] == []
        expected = {(unit.kind, unit.id) for unit in memory.units()}
        query = memory.embedder.embed_query("it is")
        assert {key[:2] for key in memory.store.unit_cosines("alice", memory.embedder.name, query, ())} == expected


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no unit": (lambda: "text", "must be a NewUnit"),
    "a line": (lambda: note(1, kind="line"), "can't be 'line'"),
    "no kind": (lambda: note(1, kind=" "), "kind must be text"),
    "a kind of NUL": (lambda: note(1, kind="a\0"), "contains NUL"),
    "no text": (lambda: note(1, " "), "not blank"),
    "an empty span": (lambda: note(1, first=2), "of lines from first_seq to last_seq"),
    "a stray source": (lambda: note(2, sources=(1, 3)), "source 3 of a unit"),
    "no zone": (lambda: replace(note(1), said_at=datetime(2024, 1, 1)), "has no time zone"),
    "importance": (lambda: replace(note(1), importance=float("nan")), "importance must be a number, got nan"),
    "category": (lambda: replace(note(1), category=""), "category must be text"),
    "metadata": (lambda: replace(note(1), metadata={"a": float("inf")}), "metadata must be JSON-serialisable"),
    "no mapping": (lambda: replace(note(1), metadata=[1]), "must be a mapping"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_unit_is_rejected_with_the_name_of_the_field(memory: Memory, what: str) -> None:
    fill(memory)
    build, words = BAD[what]
    with pytest.raises(BadInput, match=words):
        memory.add_unit(build())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="supersedes must be the id"):
        memory.add_unit(note(1), supersedes=0)
    assert memory.units() == []


def test_unstorable_characters_in_the_text_of_a_unit_are_replaced(memory: Memory) -> None:
    fill(memory)
    assert memory.add_unit(note(1, "a\0b\ud83ec")).text == "a\ufffdb\ufffdc"


# ------------------------------------------------------------------------- vectors


class Down(HashEmbedder):
    down = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise ModelError("down")
        return super().embed(texts)


def test_a_unit_stored_without_a_vector_is_embedded_by_reindex(tmp_path: Path) -> None:
    embedder = Down(512)
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory:
        fill(memory)
        embedder.down = True
        memory.add_unit(note(2, "The kettle sings."))
        query = embedder.embed_query
        embedder.down = False
        asked = query("The kettle sings.")
        assert memory.store.unit_cosines("alice", embedder.name, asked, ()) == []
        memory.reindex()
        assert memory.store.unit_cosines("alice", embedder.name, asked, ("fact",)) == []
        ((kind, number, cosine),) = memory.store.unit_cosines("alice", embedder.name, asked, ("note",))
        assert (kind, number) == ("note", 1)
        assert cosine == pytest.approx(1, abs=1e-3)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as other:
        assert other.reindex() == 6
        assert other.store.unit_cosines("alice", embedder.name, asked, ()) == []
        assert len(other.store.unit_cosines("alice", "hash-64", other.embedder.embed_query("x"), ())) == 1
        assert other.stats().vectors == {"hash-64": 6}
        assert other.store.check("alice") == []


def test_the_cosine_of_a_long_unit_is_that_of_its_nearest_piece(memory: Memory) -> None:
    fill(memory)
    memory.add_unit(note(2, "The kettle sings. " + "Nothing else happened on that day at all. " * 60))
    ((_, _, cosine),) = memory.store.unit_cosines(
        "alice", memory.embedder.name, memory.embedder.embed_query("nothing else happened on that day at all"), ()
    )
    assert cosine > 0.9


# -------------------------------------------------------------------- jobs, settings


def test_a_job_is_queued_once_and_removed_when_its_unit_is_stored(memory: Memory) -> None:
    fill(memory)
    fill(memory, session="t")
    later = ScribeJob("notes", "s", 1, 6, NOON + timedelta(hours=1))
    first = ScribeJob("summary", "t", 7, 12, NOON)
    for job in (later, first):
        memory.enqueue(job)
    tried = replace(later, tries=2, error="LLMUnavailable")
    memory.enqueue(replace(tried, queued_at=NOON - timedelta(hours=1)))
    assert memory.jobs() == [first, tried]
    assert memory.stats().queued == 2
    memory.dequeue(first)
    memory.dequeue(first)
    memory.add_unit(note(6), finished_job=later)
    assert memory.jobs() == []


def test_forgetting_a_session_removes_its_jobs(memory: Memory, tmp_path: Path) -> None:
    fill(memory)
    fill(memory, session="zqsecret")
    memory.enqueue(ScribeJob("notes", "s", 1, 6, NOON))
    memory.enqueue(ScribeJob("notes", "zqsecret", 7, 12, NOON, error="zqerror"))
    memory.forget(session="zqsecret")
    assert [job.session for job in memory.jobs()] == ["s"]
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"zqsecret" not in data
    assert b"zqerror" not in data
    with pytest.raises(NotFound, match="has no session 'zqsecret' for a notes job"):
        memory.enqueue(ScribeJob("notes", "zqsecret", 7, 12, NOON))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("work", "must be a ScribeJob"),
        (ScribeJob("song", "s", 1, 1, NOON), "unknown kind 'song' of a job; expected one of summary, notes"),  # type: ignore[arg-type]
        (ScribeJob("notes", "", 1, 1, NOON), "session of a job must be text"),
        (ScribeJob("notes", "s", 2, 1, NOON), "of lines from first_seq"),
        (ScribeJob("notes", "s", 1, 1, NOON.replace(tzinfo=None)), "queued_at .* has no time zone"),
        (ScribeJob("notes", "s", 1, 1, NOON, -1), "tries of a job"),
        (ScribeJob("notes", "s", 1, 1, NOON, 0, "x" * 201), "error of a job"),
    ],
)
def test_an_invalid_job_is_rejected(memory: Memory, job: ScribeJob, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        memory.enqueue(job)


def test_a_setting_is_saved_until_it_is_removed(memory: Memory, tmp_path: Path) -> None:
    value: JSONValue = {"voice": ["dry", 1.5, None, True], "ü": "x"}
    memory.set_setting("character", value)
    memory.set_setting("notes", False)
    memory.set_setting("notes", 0)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as again:
        assert again.settings() == {"character": value, "notes": 0}
    memory.set_setting("character", None)
    memory.set_setting("never", None)
    assert memory.settings() == {"notes": 0}
    memory.forget(everything=True)
    assert memory.settings() == {}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("", 1, "name of a setting must be text"),
        ("a", {1, 2}, "setting 'a' must be JSON-serialisable"),
        ("a", float("nan"), "setting 'a' must be JSON-serialisable"),
        ("a", "\0", "setting 'a' contains NUL"),
        ("a", "x" * 1_000_001, "setting 'a' is too large"),
    ],
)
def test_an_invalid_setting_is_rejected(memory: Memory, name: str, value: JSONValue, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        memory.set_setting(name, value)
    assert memory.settings() == {}


def test_an_unknown_remember_policy_is_rejected(memory: Memory) -> None:
    for value in ("always", "ask", "never", None):
        memory.set_setting("remember", value)
        assert memory.settings().get("remember") == value
    wrong: JSONValue
    for wrong in ("sometimes", "Never", "", True, 1, ["ask"]):
        with pytest.raises(BadInput, match=r"setting 'remember' must be one of always, ask, never, got "):
            memory.set_setting("remember", wrong)
    assert memory.settings() == {}


# ----------------------------------------------------------------------- ended sessions


def test_a_line_without_a_session_does_not_join_an_ended_one(memory: Memory) -> None:
    first = memory.observe("Hello.", said_at=NOON)
    assert memory.sessions()[0].ended_at is None
    memory.end(first.session)
    ended = memory.sessions()[0].ended_at
    assert ended is not None
    second = memory.observe("Hello again.", said_at=NOON + timedelta(minutes=1))
    assert second.session != first.session
    assert memory.observe("And so on.", said_at=NOON + timedelta(minutes=2)).session == second.session
    assert memory.observe("One more.", said_at=NOON, session=first.session).session == first.session
    assert memory.observe("Another one.", said_at=NOON).session not in (first.session, second.session)
    assert [session.ended_at for session in memory.sessions()] == [ended, None, None]


def test_a_missing_session_can_not_be_ended(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no session 'nowhere'"):
        memory.end("nowhere")
    with pytest.raises(BadQuery, match="session must be a str"):
        memory.end(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [datetime(2026, 3, 2), "2026-03-02T12:00:00Z", 0])
def test_a_session_can_not_be_ended_at_an_invalid_time(memory: Memory, at: Any) -> None:
    session = memory.observe("Hello.").session
    with pytest.raises(BadQuery, match=r"^at "):
        memory.end(session, at)


def test_a_session_can_have_a_title_and_metadata(memory: Memory) -> None:
    memory.observe("The kettle sings.", session="s", said_at=NOON)
    (untitled,) = memory.sessions()
    assert (untitled.title, untitled.metadata) == (None, {})
    titled = memory.set_session("s", title="  Tea\n", metadata={"source": {"id": 7}})
    assert memory.sessions() == [titled] == [replace(untitled, title="Tea", metadata={"source": {"id": 7}})]
    assert memory.set_session("s", metadata={"pinned": True}).metadata == {"source": {"id": 7}, "pinned": True}
    assert memory.set_session("s", metadata={"source": None}).metadata == {"pinned": True}
    assert memory.set_session("s", metadata={}).title == "Tea"
    assert memory.set_session("s", title="").title is None
    memory.set_session("s", title="Tea")
    memory.observe("And sings.", session="s", said_at=NOON)
    assert [session.title for session in memory.sessions()] == ["Tea"]


def test_a_title_is_forgotten_with_the_last_line_of_its_session(memory: Memory) -> None:
    memory.observe_many([NewLine("One.", session="s"), NewLine("Two.", session="s")])
    memory.set_session("s", title="Zqcanary")
    memory.forget(seq=1)
    assert memory.sessions()[0].title == "Zqcanary"
    memory.forget(seq=2)
    memory.observe("Three.", session="s")
    assert memory.sessions()[0].title is None
    store = memory.store
    assert isinstance(store, SQLiteStore)
    assert not any(b"Zqcanary" in path.read_bytes() for path in store.folder.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": 3}, "invalid title: got 3, expected a str"),
        ({"title": "t" * 1001}, "invalid title: it has 1,001 characters, expected at most 1,000"),
        ({"title": "a\0"}, "a title contains NUL"),
        ({"metadata": [1]}, "invalid metadata of a session: got .1., expected a mapping"),
        ({"metadata": {"n": float("nan")}}, "the metadata of a session must be JSON-serialisable"),
        ({"metadata": {"n": "\ud83e"}}, "the metadata of a session contains NUL or half"),
        ({"metadata": json.loads('{"n":' * 101 + "1" + "}" * 101)}, "nested more than 100 deep"),
    ],
)
def test_invalid_titles_and_metadata_of_sessions_are_rejected(
    memory: Memory, changes: dict[str, Any], message: str
) -> None:
    memory.observe("The kettle sings.", session="s")
    before = memory.sessions()
    with pytest.raises(BadInput, match=message):
        memory.set_session("s", **changes)
    assert memory.sessions() == before


def test_a_missing_session_can_not_have_a_title(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no session 'nowhere'"):
        memory.set_session("nowhere", title="Tea")
    with pytest.raises(BadQuery, match="session must be a str"):
        memory.set_session(3, title="Tea")  # type: ignore[arg-type]


# --------------------------------------------------------------------- excluded lines


def test_excluded_lines_are_neither_hits_nor_in_passages(memory: Memory) -> None:
    fill(memory, 9)
    excluded = {3, 4, 8}
    hits = memory.recall("Which line tells of topic4?", 9, exclude=excluded)
    assert {hit.seq for hit in hits} == {1, 2, 5, 6, 7, 9}
    assert {line.seq for hit in hits for line in hit.passage} == {1, 2, 5, 6, 7, 9}
    assert len(memory.recall("Which line tells of topic4?", 3, exclude=excluded)) == 3
    context = memory.context("Which line tells of topic4?", gate=False, min_relevance=0, exclude=excluded)
    assert {line.seq for line in context.lines} == {1, 2, 5, 6, 7, 9}


def test_excluded_lines_are_not_shown_from_the_buffer(memory: Memory) -> None:
    fill(memory, 9)
    memory.context("topic4", session="t", gate=False)
    buffer = {seq for first, last in memory.store.buffer("alice", "t") for seq in range(first, last + 1)}
    assert 4 in buffer
    assert {line.seq for line in memory.context("", session="t").lines} == buffer
    assert {line.seq for line in memory.context("", session="t", exclude=[4]).lines} == buffer - {4}


def test_excluded_lines_do_not_raise_the_relevance(memory: Memory) -> None:
    """Recall behaves as if excluded lines were not stored, although they count for the size of the bank."""
    fill(memory, 20)
    memory.observe("The zebra Zelda plays chess.", said_at=NOON + timedelta(hours=1), session="s")
    question = "What does the zebra Zelda play?"
    known = memory.context(question)
    assert known.relevance > 0.8
    excluded = memory.context(question, exclude=[21])
    memory.forget(seq=21)
    unknown = memory.context(question)
    assert excluded.relevance == pytest.approx(unknown.relevance, abs=0.02)
    assert not excluded


def test_excluding_no_lines_or_missing_ones_has_no_effect(memory: Memory) -> None:
    fill(memory, 20)
    plain = memory.recall("topic4", 20)
    assert memory.recall("topic4", 20, exclude=()) == memory.recall("topic4", 20, exclude=[]) == plain
    assert memory.recall("topic4", 20, exclude=(99, 0, -1, 2**70)) == plain
    candidates, signals = memory.reader.measure_candidates(Query("topic4", exclude=list(np.arange(1, 4))))
    assert candidates.seqs.tolist() == list(range(4, 21))
    assert {len(values) for values in signals.values()} == {17}


@pytest.mark.slow
def test_lines_can_be_excluded_in_a_large_bank(memory: Memory) -> None:
    memory.observe_many(NewLine(f"Entry {n}: the weather of day{n}.", session=str(n // 50)) for n in range(1, 1500))
    best = [hit.seq for hit in memory.recall("the weather of day700", 500)]
    assert best[0] == 700
    again = [hit.seq for hit in memory.recall("the weather of day700", 400, exclude=best[:100])]
    assert len(again) == 400
    assert not {*again} & {*best[:100]}
    all_seqs = list(range(1, 1500))
    assert memory.recall("the weather of day700", exclude=all_seqs) == []
    assert not memory.context("the weather of day700", exclude=all_seqs)


@pytest.mark.parametrize("exclude", [5, ["1"], [1.5]])
def test_excluding_invalid_numbers_is_rejected(memory: Memory, exclude: Any) -> None:
    fill(memory)
    for call in (memory.recall, memory.context):
        with pytest.raises(BadQuery, match="exclude must be the seqs of lines"):
            call("topic4", exclude=exclude)


def test_excluded_lines_are_left_out_of_an_overview(memory: Memory) -> None:
    fill(memory)
    hits = memory.recall("What did we talk about yesterday?", as_of=NOON + timedelta(days=1), exclude=(2, 3))
    assert {hit.seq for hit in hits} == {1, 4, 5, 6}


# ----------------------------------------------------------------- recall of units


def add_units(memory: Memory) -> None:
    """Store six lines, two summaries, a note, and a fact that another one supersedes."""
    fill(memory)
    memory.add_unit(note(2, "They talked of the lighthouse and its keeper.", kind="summary"))
    memory.add_unit(note(5, "They talked of the ferry to Lisbon.", 3, kind="summary"))
    memory.add_unit(replace(note(5, "Ann is afraid of ferries."), metadata={"mood": "grave"}))
    memory.add_unit(note(3, "Ann lives in Lisbon.", 3, kind="fact"))
    memory.add_unit(note(6, "Ann lives in Porto.", 6, kind="fact"), supersedes=1)


def test_units_of_a_kind_are_found_instead_of_lines(memory: Memory) -> None:
    add_units(memory)
    first, second = memory.recall("Who was the keeper of the lighthouse?", where=Filter(kind="summary"))
    assert (first.text, first.kind) == ("They talked of the lighthouse and its keeper.", "summary")
    assert (first.seq, first.source.session, first.source.speaker) == (2, "s", "summary")
    assert first.unit == next(unit for unit in memory.units("summary") if unit.id == 1)
    assert first.said_at == NOON + timedelta(minutes=2)
    assert first.passage == ()
    assert first.signals.keys() == {"cosine", "share"}
    assert first.score == pytest.approx(sum(first.signals.values()))
    assert first.relevance == pytest.approx(first.signals["cosine"], abs=1e-6)
    assert first.score > second.score
    assert len(memory.recall("keeper of the lighthouse", 1, where=Filter(kind=("summary", "note")))) == 1
    kinds = {hit.kind for hit in memory.recall("ferry", where=Filter(kind=("summary", "note")))}
    assert kinds == {"summary", "note"}
    assert memory.recall("ferry", where=Filter(kind="song")) == []
    assert memory.recall(" ", where=Filter(kind="summary")) == []


def test_units_that_are_current_as_of_the_time_are_found(memory: Memory) -> None:
    add_units(memory)
    facts = Filter(kind="fact")
    assert [hit.text for hit in memory.recall("Where does Ann live?", where=facts)] == ["Ann lives in Porto."]
    then = memory.recall("Where does Ann live?", where=facts, as_of=NOON + timedelta(minutes=4))
    assert [hit.text for hit in then] == ["Ann lives in Lisbon."]
    assert memory.recall("Where does Ann live?", where=facts, as_of=NOON) == []
    memory.retract(6)
    assert [hit.text for hit in memory.recall("Where?", where=facts)] == ["Ann lives in Lisbon."]


def test_units_can_be_filtered_only_by_time_and_metadata(memory: Memory) -> None:
    add_units(memory)

    def found(**where: Any) -> list[str]:
        return [hit.text[-7:] for hit in memory.recall("ferry", where=Filter(kind=("summary", "note"), **where))]

    assert sorted(found()) == ["Lisbon.", "erries.", "keeper."]
    assert found(until=NOON + timedelta(minutes=5)) == ["keeper."]
    assert sorted(found(since=NOON + timedelta(minutes=5))) == ["Lisbon.", "erries."]
    assert found(metadata={"mood": "grave"}) == ["erries."]
    for field in ("session", "speaker", "role"):
        with pytest.raises(BadQuery, match=rf"where\.{field} applies to lines only, not to a summary; filter by since"):
            found(**{field: "user"})
    with pytest.raises(BadQuery, match=r"asks for lines and for units .*; ask for one after the other"):
        memory.recall("ferry", where=Filter(kind=("line", "note")))
    assert {hit.kind for hit in memory.recall("topic4", where=Filter(kind=("line",)))} == {"line"}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_context_of_units_never_contains_lines_of_the_buffer(memory: Memory, recipe: Recipe) -> None:
    fill(memory)
    memory.context("topic4", session="t", gate=False)
    assert memory.store.buffer("alice", "t")
    memory.recipe = recipe
    assert memory.context("topic4", where=Filter(kind="fact"), session="t").sources == ()
    assert memory.context("", where=Filter(kind="fact"), session="t").sources == ()


def test_a_recipe_that_finds_no_lines_does_not_show_the_buffer_of_another(memory: Memory) -> None:
    fill(memory)
    memory.context("topic4", session="t", gate=False)
    memory.recipe = Packabby()
    assert memory.context("topic4", where=Filter(speaker="nobody"), session="t").sources == ()


def test_a_context_of_units_contains_all_relevant_units_even_of_the_same_line(memory: Memory) -> None:
    add_units(memory)
    where = Filter(kind=("summary", "note"))
    context = memory.context("Is Ann afraid of the ferry to Lisbon?", where=where, session="t", min_relevance=0)
    assert len(context.units) == len(context.hits) == 3
    assert "summary: They talked of the ferry to Lisbon." in context.text
    assert "note: Ann is afraid of ferries." in context.text
    assert memory.store.buffer("alice", "t") == []
    small = memory.context("Is Ann afraid of the ferry to Lisbon?", 40, where=where, min_relevance=0)
    assert small.cut
    assert len(small.hits) + len(small.cut) == 3
    assert not memory.context("Quantum chromodynamics?", where=where)
    assert not memory.context("Thanks!", where=where)


def test_units_are_found_by_keyword_while_the_embedder_is_down(tmp_path: Path) -> None:
    embedder = Down(512)
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory:
        embedder.down = True
        add_units(memory)
        hits = memory.recall("the keeper of the lighthouse", where=Filter(kind="summary"))
        assert [hit.signals["share"] for hit in hits] == [1, 0]
        assert "keeper" in memory.context("the keeper of the lighthouse", where=Filter(kind="summary")).text


# ---------------------------------------------------------------------------- quotes


def quote_metadata(text: str, *quotes: str) -> dict[str, JSONValue]:
    return {META_ECHO: [[text.index(quote), text.index(quote) + len(quote)] for quote in quotes]}


def test_quoted_words_of_a_line_are_not_found(memory: Memory) -> None:
    memory.observe("The giraffe ate acacia leaves.", session="a")
    text = "You said: 'The giraffe ate acacia leaves.' I like owls."
    line = memory.observe(
        text, role="assistant", session="b", metadata=quote_metadata(text, "The giraffe ate acacia leaves.")
    )
    assert line.text == text
    candidates, signals = memory.reader.measure_candidates(Query("giraffe acacia leaves"))
    assert signals["share"].tolist() == [1, 0]
    assert signals["cosine"][1] < 0.3 < signals["cosine"][0]
    assert memory.recall("Do I like owls?", 1)[0].line == line
    assert candidates.postings["giraff"].df == 1
    assert memory.store.check("alice") == []


def test_a_line_that_only_quotes_is_stored_and_not_pending(memory: Memory) -> None:
    text = "The giraffe ate acacia leaves."
    memory.observe(text, session="a")
    memory.observe(text, session="b", metadata=quote_metadata(text, text))
    assert memory.stats().pending == 0
    _, signals = memory.reader.measure_candidates(Query(text))
    assert signals["cosine"][1] < 0.3
    assert signals["empty"].tolist() == [0, 1]
    assert memory.recall(text, 1)[0].line.seq == 1
    assert memory.store.check("alice") == []
    memory.retract(2)
    memory.forget(seq=2)
    assert memory.store.check("alice") == []


def test_quotes_are_still_left_out_after_reanalysing_and_reindexing(tmp_path: Path) -> None:
    text = "You said: 'The giraffe ate acacia leaves.' I like owls."
    with Memory.open("alice", store=tmp_path / "a", embedder=HashEmbedder(512)) as memory:
        memory.observe(text, session="a", metadata=quote_metadata(text, "The giraffe ate acacia leaves."))
        _, before = memory.reader.measure_candidates(Query("giraffe owls"))
    with closing(sqlite3.connect(tmp_path / "a" / "alice.bank")) as db, db:
        db.execute("UPDATE bank SET analyser = 0")
    with Memory.open("alice", store=tmp_path / "a", embedder=HashEmbedder(512)) as memory:
        assert memory.store.check("alice") == []
        memory.store.drop_vectors("alice", "none")
        assert memory.reindex() == 1
        _, after = memory.reader.measure_candidates(Query("giraffe owls"))
        with Memory.open("alice", store=tmp_path / "b", embedder=HashEmbedder(512)) as other:
            copy_bank(memory, other)
            assert other.store.check("alice") == []
            _, moved = other.reader.measure_candidates(Query("giraffe owls"))
        memory.forget(seq=1)
        assert memory.store.check("alice") == []
    for name, values in before.items():
        assert after[name] == moved[name] == pytest.approx(values)
