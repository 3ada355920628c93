"""An exported bank becomes the same bank again, in both stores and from one to the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.bank.evidence import build_metadata
from everthread.common.keys import LOCAL_SETTINGS, META_UNDATED
from everthread.errors import BadFile, BadInput, BadQuery, NotFound
from everthread.memory import Memory
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer import importing, restoring
from everthread.transfer.exporting import export
from everthread.types import Context, FoundUnit, Hit, JSONValue, NewUnit, ScribeJob

NOON = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=9)))
BANKS = (f"bank {number}" for number in count())
LOCAL: dict[str, JSONValue] = {
    "home": "nora",
    "recall_from": ["bob"],
    "everthread.responses": [["r", 1]],
    "sms": {"owed": 1},
}


@pytest.fixture(scope="module")
def stores(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    opened = {"sqlite": SQLiteStore(tmp_path_factory.mktemp("banks")), "postgres": PostgresStore(database)}
    yield opened
    for store in opened.values():
        store.close()


def open_bank(store: Store, bank: str | None = None) -> Memory:
    return Memory.open(bank or next(BANKS), store=store, embedder=HashEmbedder(), recipe="default")


def read_contents(memory: Memory) -> list[str]:
    """Return all that a bank has, as text, and the faults of its store."""
    lines = list(memory.lines(include_retracted=True, include_wordless=True))
    kept = {name: value for name, value in memory.settings().items() if name not in LOCAL_SETTINGS}
    return [
        *map(repr, lines),
        *map(repr, memory.store.units(memory.bank, include_retracted=True)),
        *map(repr, (memory.sessions(), kept, memory.jobs(), memory.store.corpus_stats(memory.bank))),
        *(repr(memory.evidence(line.seq)) for line in lines if "everthread.recalled" in line.metadata),
        *memory.store.check(memory.bank),
    ]


def save(memory: Memory, path: Path, *, retracted: bool = True) -> Path:
    path.write_text("".join(export(memory, retracted=retracted)), encoding="utf-8")
    return path


def load(memory: Memory, path: Path) -> dict[str, Any]:
    source = importing.check_file(path)
    importing.check_compatible(memory, source)
    return importing.import_lines(memory, source)


def fill(memory: Memory) -> None:
    """Fill a bank with something of every kind."""
    for number in range(1, 13):
        memory.observe(
            f"Line {number} about the lighthouse \U0001f9f5",
            speaker="Ann" if number % 3 else "Bob",
            role="user" if number % 2 else "assistant",
            said_at=NOON + timedelta(hours=number, microseconds=number),
            session=f"session {number // 5}",
            metadata={"deep": {"b": [1.5, None], "a": "ü"}} if number % 4 == 0 else {},
            key=f"k{number}" if number % 5 == 0 else None,
            parent=number - 1 if number in (3, 6) else None,
        )
    memory.observe("", role="tool", metadata={"call": "weather"}, session="session 2")
    memory.observe("Long ago we sailed.", undated=True, session="session 2")
    memory.correct(2, "Line 2 about the harbour.")
    memory.observe("Line 5, said otherwise.", key="k5", session="session 1", replace=True)
    memory.restore(6)
    memory.forget(seq=8)
    note = memory.add_unit(NewUnit("note", "The lighthouse.", 1, 3, NOON, 3.25, "place", {"n": [1]}))
    note = memory.add_unit(NewUnit("note", "The lighthouse and the sea.", 1, 3, NOON), supersedes=note.id)
    memory.add_unit(NewUnit("fact", "Bob has a boat.", 9, 9, NOON))
    memory.add_unit(NewUnit("summary", "They met.", 1, 4, NOON))
    memory.add_unit(NewUnit("fact", "Water boils.", 0, 0, NOON))
    line = next(memory.lines())
    hits = (Hit(line, 2.5, 0.75, {"cosine": 0.5}, (line,)), Hit(FoundUnit(note, "session 0", "note"), 1.0, 0.5, {}))
    evidence = build_metadata(Context("…", 42, (line,), hits, (), 0.875), line, {"window": [[1, 3]], "pinned": [1]})
    memory.observe("It is the lighthouse.", role="assistant", session="session 2", metadata=evidence)
    memory.retract(9)
    memory.set_session("session 0", title="Boats", metadata={"source": {"id": 7}})
    memory.end("session 0", NOON)
    memory.set_setting("character", {"name": "Vey", "card": {"b": 1, "a": [2]}})
    memory.set_setting("remember", "always")
    memory.set_setting("pinned", [1, 3])
    for name, value in LOCAL.items():
        memory.store.set_setting(memory.bank, name, value)
    memory.enqueue(ScribeJob("notes", "session 1", 6, 7, NOON, 2, "LLMUnavailable"))
    memory.forget(seq=memory.observe("The last number is never assigned again.").seq)


@pytest.mark.parametrize("source", ["sqlite", "postgres"])
@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_an_export_becomes_an_identical_bank_in_an_empty_one(
    stores: dict[str, Store], source: str, target: str, tmp_path: Path
) -> None:
    with open_bank(stores[source], "full") as memory, open_bank(stores[target]) as copy:
        if not memory.stats().lines:
            fill(memory)
        path, before = save(memory, tmp_path / "bank.jsonl"), read_contents(memory)
        counts = load(copy, path)
        assert read_contents(copy) == before == read_contents(memory)
        assert (counts["read"], counts["added"], counts["skipped"]) == (16, 15, {})  # one line has no words
        assert not copy.settings().keys() & LOCAL
        assert save(copy, tmp_path / "again.jsonl").read_text().splitlines()[1:] == path.read_text().splitlines()[1:]
        assert [hit.text for hit in copy.recall("the lighthouse")] == [
            hit.text for hit in memory.recall("the lighthouse")
        ]
        for same in (memory, copy):
            assert load(same, path)["added"] == 0
            assert read_contents(same) == before
        assert copy.observe("New.").seq == memory.store.corpus_stats(memory.bank).last_seq + 1
        copy.forget(everything=True)


steps = st.one_of(
    st.tuples(st.just("observe"), st.integers(0, 5), st.sampled_from([None, "k", "l"])),
    st.tuples(st.just("put"), st.integers(0, 5), st.sampled_from(["k", "l"])),
    st.tuples(st.sampled_from(["retract", "correct", "restore", "forget", "pin", "unit", "end"]), st.integers(1, 9)),
)
STEPS: dict[str, Callable[..., object]] = {
    "observe": lambda memory, n, key: memory.observe(f"Line {n}.", key=key, session=f"s{n % 2}", said_at=NOON),
    "put": lambda memory, n, key: memory.observe(f"Put {n}.", key=key, replace=True, session="s0"),
    "retract": lambda memory, n: memory.retract(n),
    "correct": lambda memory, n: memory.correct(n, f"Corrected {n}."),
    "restore": lambda memory, n: memory.restore(n),
    "forget": lambda memory, n: memory.forget(seq=n),
    "pin": lambda memory, n: memory.set_setting("pinned", [n]),
    "unit": lambda memory, n: memory.add_unit(NewUnit("fact", f"Fact {n}.", n, n, NOON, sources=(n,))),
    "end": lambda memory, n: memory.end(f"s{n % 2}", NOON),
}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(steps, min_size=3, max_size=14), retracted=st.booleans())
def test_a_random_bank_is_restored_and_its_own_export_adds_nothing(
    stores: dict[str, Store], tmp_path: Path, steps: list[tuple[Any, ...]], retracted: bool
) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        for name, *arguments in steps:
            with suppress(NotFound, BadQuery, BadInput):
                STEPS[name](memory, *arguments)
        path, before = save(memory, tmp_path / "bank.jsonl", retracted=retracted), read_contents(memory)
        load(copy, path)
        if retracted:
            assert read_contents(copy) == before
        else:
            assert [*map(repr, copy.lines())] == [*map(repr, memory.lines())]
            assert [*map(repr, copy.units())] == [*map(repr, memory.units())]
        assert copy.store.check(copy.bank) == []
        assert load(memory, path)["added"] == 0
        assert read_contents(memory) == before


def test_an_interrupted_import_and_an_older_copy_are_completed(
    stores: dict[str, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(restoring, "BATCH_LINES", 2)
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        for number in range(5):
            memory.observe(f"Line {number}.", said_at=NOON)
        first = memory.add_unit(NewUnit("note", "Five lines.", 1, 5, NOON))
        source = importing.check_file(save(memory, tmp_path / "bank.jsonl"))
        with pytest.raises(KeyboardInterrupt):
            importing.import_lines(copy, source, interrupt)
        assert (copy.stats().lines, load(copy, source.path)["added"]) == (2, 3)
        assert read_contents(copy) == read_contents(memory)
        memory.observe("Line 5.", said_at=NOON)
        memory.add_unit(NewUnit("note", "Six lines.", 1, 6, NOON), supersedes=first.id)
        assert load(copy, save(memory, tmp_path / "bank.jsonl"))["added"] == 1
        assert read_contents(copy) == read_contents(memory)


def test_settings_and_units_that_an_empty_bank_has_stay(stores: dict[str, Store], tmp_path: Path) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        memory.observe("One line.")
        memory.set_setting("character", {"name": "Vey"})
        memory.set_setting("recipe", {"name": "my own recipe"})
        memory.set_setting("plan", [1])
        copy.set_setting("character", {"name": "Nora"})
        load(copy, save(memory, tmp_path / "bank.jsonl"))
        assert copy.settings() == {"character": {"name": "Nora"}, "plan": [1]}


def test_a_file_cannot_name_a_host_for_a_model_or_share_a_bank(stores: dict[str, Store], tmp_path: Path) -> None:
    options = {"rerank": "http://10.0.0.1/rerank", "min_relevance": 0.5}
    rows = [HEAD, {"setting": "recipe", "value": {"name": "default", "options": options}}, LINE]
    rows += [{"setting": name, "value": value} for name, value in LOCAL.items()]
    path = save_rows(tmp_path, [json.dumps(row) + "\n" for row in rows])
    with Memory.open(next(BANKS), store=stores["sqlite"], embedder=HashEmbedder()) as copy:
        load(copy, path)
        assert copy.settings() == {"recipe": {"name": "default", "options": {"min_relevance": 0.5}}}


def test_a_bank_with_other_lines_gets_the_lines_and_counts_what_was_left_out(
    stores: dict[str, Store], tmp_path: Path
) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as other:
        fill(memory)
        other.observe("Said long before.")
        counts = load(other, save(memory, tmp_path / "bank.jsonl"))
        assert counts["skipped"] == {"settings": 4, "notes, summaries and facts": 5, "jobs": 1}
        assert (counts["read"], counts["added"]) == (16, 15)
        assert (other.units(), list(other.settings()), other.jobs()) == ([], ["recipe"], [])
        assert load(other, tmp_path / "bank.jsonl")["added"] == 0
        assert "Line 1 about the lighthouse \U0001f9f5" in {line.text for line in other.lines()}


def test_a_bank_without_lines_keeps_its_character(stores: dict[str, Store], tmp_path: Path) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        memory.set_setting("character", {"name": "Vey"})
        assert load(copy, save(memory, tmp_path / "bank.jsonl"))["read"] == 0
        assert copy.settings() == memory.settings()


def test_facts_stay_forgotten_and_corrected_without_the_earlier_versions_of_their_lines(
    stores: dict[str, Store], tmp_path: Path
) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        for text in ("I live in Leeds.", "I work at Acme."):
            memory.observe(text, speaker="Ann", said_at=NOON, session="s")
        home, employer = memory.facts()
        memory.forget_fact(home.id)
        memory.correct_fact(employer.id, "Bosch")
        memory.correct(1, "I live in Leeds!")
        memory.retract(2)
        memory.restore(2)
        load(copy, save(memory, tmp_path / "bank.jsonl", retracted=False))
        assert [fact.value for fact in copy.facts()] == ["Bosch"]
        assert copy.facts() == memory.facts()


def test_merges_and_splits_name_the_versions_of_lines_that_an_export_has(
    stores: dict[str, Store], tmp_path: Path
) -> None:
    with open_bank(stores["sqlite"]) as memory, open_bank(stores["sqlite"]) as copy:
        for text in ("My sister Mia lives in Leeds.", "Maria is a nurse.", "Mia likes figs."):
            memory.observe(text, speaker="Ann", said_at=NOON)
        memory.merge_entities("Mia", "Maria")
        (figs,) = memory.facts("Mia", "likes")
        memory.split_entity("Mia", figs.statements)
        memory.correct(1, "My dear sister Mia lives in Leeds.")
        memory.correct(3, "Mia likes figs!")
        load(copy, save(memory, tmp_path / "bank.jsonl", retracted=False))
        assert [fact.attribute for fact in copy.facts("Ann's sister")] == ["occupation", "home"]
        assert copy.entities() == memory.entities()


def save_rows(folder: Path, rows: list[str]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(rows), encoding="utf-8")
    return path


HEAD = {"everthread": 1, "bank": "alice", "last_seq": 2}
LINE = {"seq": 1, "session": "s", "text": "Hi.", "said_at": "2024-05-01T12:00:00Z"}
TIMES = {"said_at": "2024-05-01T12:00:00Z", "valid_from": "2024-05-01T12:00:00Z"}
UNIT = {"unit": "fact", "id": 1, "text": "A fact.", "first_seq": 1, "last_seq": 1, **TIMES}
JOB = {"job": "notes", "session": "s", "first_seq": 1, "last_seq": 1, "queued_at": "2024-05-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{**HEAD, "everthread": 2}], r"line 1: a later version of Everthread wrote this export.*update Everthread"),
        ([{**HEAD, "everthread": "1"}], r"line 1: .* is not the head of an export"),
        ([{**HEAD, "last_seq": -1}], r"line 1: .* is not the head of an export"),
        ([{**HEAD, "bank": 7}], r'line 1: "bank" is 7'),
        ([HEAD, LINE, HEAD], r"line 3: another export begins here.*as a file of its own"),
        ([HEAD, {**LINE, "seq": 2}, LINE], r'line 3: "seq" is 1, after 2'),
        ([HEAD, {**LINE, "seq": 3}], r'line 2: "seq" is 3, after 0 and with 2 as the last number'),
        ([HEAD, {"text": "No number."}], r'line 2: "seq" is None'),
        ([HEAD, {**LINE, "parent": 1}], r'line 2: "parent" is 1, which is not a line before it'),
        ([HEAD, LINE, {**UNIT, "text": " "}], r"line 3: a unit's text must have a character that is not blank"),
        ([HEAD, LINE, {**UNIT, "importance": 2**2000}], r"line 3: a unit's importance must be a number"),
        (
            [HEAD, {**LINE, "said_at": None, "stored_at": 1, "metadata": {META_UNDATED: True}}],
            r'line 2: "stored_at" is 1',
        ),
        ([HEAD, LINE, {**UNIT, "id": 0}], r'line 3: "id" is 0'),
        ([HEAD, LINE, {**UNIT, "id": None}], r'line 3: "id" is None'),
        ([HEAD, LINE, {**UNIT, "supersedes": 1}], r'line 3: "supersedes" is 1, which is not the id of a unit before 1'),
        ([HEAD, LINE, {**UNIT, "last_seq": 3}], r'line 3: "last_seq" is 3, but the last line of the bank was 2'),
        ([HEAD, LINE, {**UNIT, "valid_from": None}], r'line 3: "valid_from" is missing'),
        ([HEAD, LINE, {**UNIT, "metadata": []}], r"line 3: a unit's metadata must be a mapping"),
        ([HEAD, LINE, {**JOB, "job": "dinner"}], r"line 3: unknown kind 'dinner' of a job"),
        ([HEAD, LINE, {**JOB, "queued_at": "soon"}], r"line 3: \"queued_at\" is 'soon'"),
        ([HEAD, {"setting": "remember", "value": "perhaps"}, LINE], r"line 2: setting 'remember' must be one of"),
        ([HEAD, {"session": "s", "title": "T", "ended_at": "never"}], r"line 2: \"ended_at\" is 'never'"),
    ],
)
def test_an_invalid_row_of_an_export_is_rejected_with_its_place(
    tmp_path: Path, rows: list[dict[str, Any]], complaint: str
) -> None:
    path = save_rows(tmp_path, [json.dumps(row) + "\n" for row in rows])
    with pytest.raises(BadFile, match=complaint):
        importing.check_file(path)


def test_lines_of_an_export_with_huge_numbers_are_numbered_again(memory: Memory, tmp_path: Path) -> None:
    rows = [{**HEAD, "last_seq": 4_000_000_000}, LINE, {**LINE, "seq": 4_000_000_000}, UNIT]
    path = save_rows(tmp_path, [json.dumps(row) + "\n" for row in rows])
    assert load(memory, path)["skipped"] == {"notes, summaries and facts": 1}
    assert [line.seq for line in memory.lines()] == [1, 2]


def test_fields_of_other_programs_are_not_taken_for_rows_of_an_export(memory: Memory, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"unit": "kg", "text": "Flour."},
        {"setting": "a kitchen", "text": "We bake."},
        {"everthread": 1, "text": "Yes."},
    ]
    dated = [{**row, "said_at": "2024-05-01T10:00:00Z"} for row in rows]
    assert load(memory, save_rows(tmp_path, [json.dumps(row) + "\n" for row in dated]))["added"] == 3
    assert [dict(line.metadata) for line in memory.lines()] == [
        {"unit": "kg"},
        {"setting": "a kitchen"},
        {"everthread": 1},
    ]


def test_an_export_of_version_0_1_is_still_imported(memory: Memory, tmp_path: Path) -> None:
    key = f"everthread:1:{'0' * 64}"
    rows = [{"session": "s", "title": "Boats", "metadata": {}}, {**LINE, "key": key}, {**LINE, "seq": 2, "key": "k"}]
    path = save_rows(tmp_path, [json.dumps(row) + "\n" for row in rows])
    assert [load(memory, path)["added"] for _ in range(2)] == [2, 0]
    assert [(line.text, line.key) for line in memory.lines()] == [("Hi.", key), ("Hi.", "k")]
    assert memory.sessions()[0].title == "Boats"
    assert next(memory.lines()).said_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
