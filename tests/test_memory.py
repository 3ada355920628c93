import logging
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hardship.embedders import Moody

from everthread import Filter, Hit, Line, Memory, NewLine
from everthread.bench.first_facts import load_first_facts
from everthread.bench.questions import AnnotatedConversation
from everthread.common.keys import META_CORRECTS, META_REPLACED_CHARACTERS
from everthread.errors import (
    BadBankId,
    BadInput,
    BadLine,
    BadQuery,
    BankDamaged,
    EmbedderUnavailable,
    NotFound,
    StoreUnavailable,
)
from everthread.memory import BATCH_LINES
from everthread.recall.types import Query
from everthread.stores.shared_rows import REQUEST_KEY_PREFIX
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
INDIA = timezone(timedelta(hours=5, minutes=30))


def open_memory(folder: Path, bank: str = "alice", embedder: Any = None) -> Memory:
    return Memory.open(bank, store=folder, embedder=embedder or HashEmbedder(512))


def texts(results: Iterator[Line] | list[Hit]) -> list[str]:
    return [result.line.text if isinstance(result, Hit) else result.text for result in results]


def seqs(hits: list[Hit]) -> set[int]:
    return {hit.line.seq for hit in hits}


def minutes_after_noon(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


@pytest.fixture
def zoo(memory: Memory) -> Memory:
    """Store six lines of three speakers in two sessions, each about another animal."""
    memory.observe_many(
        [
            NewLine(
                "The giraffe ate acacia leaves.",
                "Ann",
                "user",
                minutes_after_noon(0),
                "monday",
                {"mood": "calm", "n": 1},
            ),
            NewLine(
                "A penguin waddled over the ice.", "Bob", "assistant", minutes_after_noon(1), "monday", {"mood": None}
            ),
            NewLine("Crocodiles bask beside the river.", "Ann", "user", minutes_after_noon(2), "monday", {"n": True}),
            NewLine(
                "The kangaroo carries its joey.",
                "Bob",
                "assistant",
                minutes_after_noon(60),
                "friday",
                {"at": {"x": [1, 2]}},
            ),
            NewLine("Owls hunt mice by moonlight.", "Ann", "user", minutes_after_noon(61), "friday", {"n": "1"}),
            NewLine("That hedgehog curled up tightly.", "Cid", "tool", minutes_after_noon(62), "friday"),
        ]
    )
    return memory


# ----------------------------------------------------------------------- opening


def test_a_missing_folder_is_created(tmp_path: Path) -> None:
    with open_memory(tmp_path / "not" / "yet" / "there") as memory:
        memory.observe("First.")
    assert (tmp_path / "not" / "yet" / "there" / "alice.bank").exists()


def test_a_file_in_place_of_the_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "banks").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match=r"banks is a file, not a folder .*; give a folder for the banks"):
        open_memory(tmp_path / "banks")
    with pytest.raises(StoreUnavailable, match="is a file, not a folder"):
        open_memory(tmp_path / "banks" / "deeper")
    assert (tmp_path / "banks").read_text() == "not a folder"


def test_a_removed_folder_raises_store_unavailable(tmp_path: Path) -> None:
    with open_memory(tmp_path / "banks") as memory:
        memory.observe("Stored while there was a folder.")
        shutil.rmtree(tmp_path / "banks")
        with pytest.raises(StoreUnavailable, match=r"bank 'alice' \(.*alice\.bank\) can't be written"):
            memory.observe("Where to?")
        with pytest.raises(StoreUnavailable, match="choose another one"):
            memory.recall("folder")


@pytest.mark.parametrize("bank", ["", "  ", "a" * 300, "line\nbreak", "\ud83d"])
def test_an_invalid_bank_id_creates_no_file(tmp_path: Path, bank: str) -> None:
    with pytest.raises(BadBankId):
        open_memory(tmp_path, bank)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bank", ["../../etc/x", "/tmp/x", "🐙", "Alice", "alice/captain-nemo", "a" * 200])
def test_any_other_bank_id_is_stored_inside_the_folder(tmp_path: Path, bank: str) -> None:
    folder = tmp_path / "one" / "two" / "three"
    with open_memory(folder, bank) as memory:
        memory.observe("Kept.")
        assert memory.store.banks() == [bank]
    assert [path.parent for path in tmp_path.rglob("*.bank")] == [folder]


def test_banks_are_separate(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    banks = {name: Memory.open(name, store=store, embedder=HashEmbedder(512)) for name in ("alice", "Alice", "alice/2")}
    for name, memory in banks.items():
        memory.observe(f"The secret of {name}.")
    assert store.banks() == ["Alice", "alice", "alice/2"]
    for name, memory in banks.items():
        assert texts(memory.recall("the secret", 10)) == texts(memory.lines()) == [f"The secret of {name}."]
    store.close()


def test_more_banks_than_the_store_holds_open_all_work(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        store.max_open_banks = 8
        banks = [Memory.open(f"bank{n}", store=store, embedder=HashEmbedder(512)) for n in range(11)]
        for memory in (*banks, *banks):
            memory.observe(f"Said in {memory.bank}.")
        assert all(texts(memory.lines()) == [f"Said in {memory.bank}."] * 2 for memory in banks)


def test_lines_are_there_when_the_bank_is_opened_again(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        line = memory.observe("The boat is called Calypso.", speaker="Ann", metadata={"n": 1}, key="k1")
    with open_memory(tmp_path) as memory:
        assert list(memory.lines()) == [line]
        assert texts(memory.recall("boat Calypso")) == ["The boat is called Calypso."]


def test_a_memory_does_not_close_a_store_that_it_was_given(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        with Memory.open("alice", store=store, embedder=HashEmbedder(512)) as memory:
            memory.observe("One.")
        assert len(list(store.lines("alice"))) == 1


# ---------------------------------------------------------------------- observing


def test_lines_are_numbered_across_speakers(memory: Memory) -> None:
    lines = [memory.observe(f"Line {n}.", role="assistant" if n % 2 else "user") for n in range(5)]
    assert [line.seq for line in lines] == [1, 2, 3, 4, 5]
    assert [line.speaker for line in lines[:2]] == ["user", "assistant"]


def test_a_stored_line_equals_the_given_one(memory: Memory) -> None:
    memory.observe("First.")
    metadata: dict[str, Any] = {"a": None, "b": [True, 1, 1.5, "x"], "ü": {"deep": {}}}
    at = datetime(2019, 3, 2, 23, 15, 0, 123456, tzinfo=INDIA)
    line = memory.observe(
        "Hello.", speaker="Ann", role="tool", said_at=at, session="s", metadata=metadata, parent=1, key="k"
    )
    assert line == Line(2, "s", "tool", "Ann", "Hello.", at, 1, metadata, "k")
    assert list(memory.lines(after=1)) == [line]
    assert line.said_at.utcoffset() == timedelta(hours=5, minutes=30)
    assert line.said_at.hour == 23


def test_an_imported_line_has_its_original_time(memory: Memory) -> None:
    memory.observe("The roof leaked.", said_at=datetime(2019, 3, 2, tzinfo=UTC))
    (hit,) = memory.recall("roof leaked")
    assert hit.line.said_at.year == 2019
    assert "2 March 2019" in memory.context("roof leaked", gate=False).text
    assert memory.stats().first_said_at == datetime(2019, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1, 1, 1, 6, tzinfo=INDIA),
    ],
)
def test_times_at_the_ends_of_the_calendar_are_stored(memory: Memory, at: datetime) -> None:
    assert memory.observe("Once upon a time.", said_at=at).said_at == at
    assert memory.recall("once upon a time")[0].line.said_at == at
    assert memory.sessions()[0].started_at == at
    assert "Once upon a time." in memory.context("once upon a time", gate=False).text


BAD_LINES = [
    (NewLine(""), "text is empty"),
    (NewLine("Hi.", role="bot"), "unknown role 'bot'"),  # type: ignore[arg-type]
    (NewLine("Hi.", speaker=" "), "speaker must be text"),
    (NewLine("Hi.", session=""), "session must be text"),
    (NewLine("Hi.", key=""), "key must be text"),
    (NewLine("Hi.", metadata={"x": float("nan")}), "metadata must be JSON-serialisable"),
    (NewLine("Hi.", said_at=datetime(2024, 1, 1)), "has no time zone"),
    (NewLine("Hi.", parent=0), "parent must be the seq"),
    (NewLine("Hi.", parent=77), "parent 77 is not a line of this bank; give the seq"),
    (NewLine("Hi.", parent="nobody"), "parent 'nobody' is not a line of this bank; give the seq"),
]


@pytest.mark.parametrize(("bad", "remedy"), BAD_LINES)
def test_an_invalid_line_is_rejected_with_its_whole_batch(zoo: Memory, bad: NewLine, remedy: str) -> None:
    before, stats = list(zoo.lines()), zoo.stats()
    with pytest.raises(BadLine, match=remedy):
        zoo.observe_many([NewLine("A good line."), bad, NewLine("Another good line.")])
    assert list(zoo.lines()) == before
    assert (zoo.stats().lines, zoo.stats().sessions, zoo.stats().pending) == (stats.lines, stats.sessions, 0)
    assert zoo.store.check("alice") == []
    assert zoo.observe("Next.").seq == 7


@pytest.mark.slow
def test_a_text_of_a_megabyte_is_stored_in_full_and_found(memory: Memory) -> None:
    long = "Call me Ishmael. " + "The sea was grey and the ship rolled on. " * 25_000 + "We sighted the whale Moby."
    memory.observe("Something else entirely.")
    line = memory.observe(long)
    assert len(long) > 1_000_000
    assert line.text == long
    assert memory.recall("whale Moby", 1)[0].line == line
    assert memory.store.check("alice") == []
    memory.forget(seq=line.seq)
    assert memory.store.check("alice") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("מזג האוויר בחיפה נעים", "בחיפה"),
        ("\u202eالطقس جميل في القاهرة\u202c", "القاهرة"),
        ("w\u200bo\u200bm\u200bb\u200ba\u200bt", "wombat"),
        ("我昨天去了图书馆", "图书馆"),
        ("नमस्ते दुनिया", "दुनिया"),
        ("🦑 squid 🦑", "squid"),
    ],
)
def test_text_of_every_script_is_stored_verbatim_and_found(zoo: Memory, text: str, query: str) -> None:
    line = zoo.observe(text)
    assert line.text == text
    assert zoo.recall(query, 1)[0].line == line


def test_lone_surrogates_and_nuls_are_replaced_and_counted(memory: Memory) -> None:
    line = memory.observe("nul \x00 and half \ud83d here", speaker="B\x00b")
    assert line.text == "nul \ufffd and half \ufffd here"
    assert line.metadata == {META_REPLACED_CHARACTERS: 3}
    assert memory.recall("half here")[0].line == line


def test_a_parent_can_be_given_by_number_or_key(memory: Memory) -> None:
    first = memory.observe("Shall we?", key="q")
    lines = memory.observe_many(
        [NewLine("Yes.", parent="q", key="a"), NewLine("Let us go.", parent="a"), NewLine("No.", parent=1)]
    )
    assert [line.parent for line in lines] == [first.seq, 2, 1]


def test_an_iterable_is_read_once_and_progress_is_reported(memory: Memory) -> None:
    progress: list[int] = []
    stored = memory.observe_many(
        (NewLine(f"Line number {n}.") for n in range(2 * BATCH_LINES + 88)), progress=progress.append
    )
    assert [line.seq for line in stored] == list(range(1, 2 * BATCH_LINES + 89))
    assert progress == [BATCH_LINES, 2 * BATCH_LINES, 2 * BATCH_LINES + 88]
    assert texts(memory.lines(after=2 * BATCH_LINES + 86)) == [f"Line number {2 * BATCH_LINES + n}." for n in (86, 87)]


def test_storing_no_lines_changes_nothing(memory: Memory) -> None:
    assert memory.observe_many([]) == []
    assert memory.stats().lines == 0


# ---------------------------------------------------------------------------- keys


def test_storing_a_known_key_returns_the_stored_line(memory: Memory) -> None:
    line = memory.observe("Only once.", key="k")
    assert memory.observe("Quite another text.", key="k", speaker="Bob") == line
    assert list(memory.lines()) == [line]
    assert memory.stats().speakers == ("user",)


def test_a_key_repeated_within_a_batch_is_stored_once(memory: Memory) -> None:
    memory.observe("Old.", key="old")
    lines = memory.observe_many(
        [NewLine(text, key=key) for text, key in [("A", "a"), ("X", "old"), ("B", "a"), ("C", None), ("D", None)]]
    )
    assert [(line.seq, line.text) for line in lines] == [(2, "A"), (1, "Old."), (2, "A"), (3, "C"), (4, "D")]
    assert memory.store.check("alice") == []


def test_a_key_from_many_threads_is_stored_once(memory: Memory) -> None:
    start = threading.Barrier(8)

    def offer(number: int) -> set[int]:
        start.wait()
        return {memory.observe(f"From thread {number}.", key=f"k{n}").seq for n in range(5)}

    with ThreadPoolExecutor(8) as pool:
        assert {frozenset(seqs_stored) for seqs_stored in pool.map(offer, range(8))} == {frozenset(range(1, 6))}
    assert memory.stats().lines == 5
    assert memory.store.check("alice") == []


def test_an_interrupted_import_is_completed_by_repeating_it(memory: Memory) -> None:
    lines = [NewLine(f"Line number {n}.", key=f"k{n}") for n in range(300)]
    memory.observe_many(lines[:170])
    assert [line.seq for line in memory.observe_many(lines)] == list(range(1, 301))
    assert memory.stats().lines == 300


def test_a_forgotten_key_can_be_stored_again(memory: Memory) -> None:
    memory.observe("First.", key="k")
    memory.forget(seq=1)
    assert memory.observe("Second.", key="k").seq == 2


def test_a_corrected_line_inherits_the_key(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k")
    line = memory.correct(1, "Mia lives in Lisbon.")
    assert (line.seq, line.key) == (2, "k")
    assert [stored.key for stored in memory.lines(include_retracted=True)] == [None, "k"]
    assert memory.observe("Mia lives in Porto.", key="k") == line
    again = memory.correct(2, "Mia lives in Lagos.")
    assert memory.observe("Mia lives in Porto.", key="k") == again
    assert [stored.text for stored in memory.lines()] == ["Mia lives in Lagos."]


def test_a_new_line_takes_the_key_of_a_retracted_one(memory: Memory) -> None:
    first = memory.observe("Mia lives in Porto.", key="k")
    memory.retract(1)
    second = memory.observe("Mia lives in Lisbon.", key="k")
    assert (second.seq, second.key, second.retracted_at) == (2, "k", None)
    assert [hit.line.seq for hit in memory.recall("Where does Mia live?")] == [2]
    assert memory.observe(first.text, key="k") == second
    assert texts(memory.lines()) == ["Mia lives in Lisbon."]
    assert memory.store.check("alice") == []


def test_a_line_stored_as_retracted_takes_no_key(memory: Memory) -> None:
    memory.observe("Old.", key="k")
    retracted = memory.retract(1)
    assert memory.observe_many([NewLine("Old.", key="k", retracted_at=NOON)]) == [retracted]


def test_a_line_can_replace_the_line_with_its_key(memory: Memory) -> None:
    memory.observe_many([NewLine("First.", key="a"), NewLine("Second.", key="b")])
    (line,) = memory.replace_lines([1, 2], [NewLine("Both.", key="b")])
    assert (line.text, line.key, line.retracted_at) == ("Both.", "b", None)
    assert [(stored.text, stored.key) for stored in memory.lines(include_retracted=True)] == [
        ("First.", "a"),
        ("Second.", None),
        ("Both.", "b"),
    ]


def test_the_key_of_a_line_corrected_by_version_0_1_0_returns_the_correction(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k", said_at=NOON, session="s")
    metadata = {META_CORRECTS: 1}  # as version 0.1.0 wrote it: without the key
    (line,) = memory.replace_lines([1], [NewLine("In Lisbon.", said_at=NOON, session="s", metadata=metadata)])
    assert memory.observe("Mia lives in Porto.", key="k") == line
    assert memory.stats().lines == 1


def test_the_key_of_a_request_stays_with_its_line(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key=f"{REQUEST_KEY_PREFIX}1")
    assert memory.correct(1, "Mia lives in Lisbon.").key is None
    assert memory.observe("Mia lives in Porto.", key=f"{REQUEST_KEY_PREFIX}1").seq == 1


def test_forgetting_a_line_forgets_its_key(memory: Memory) -> None:
    memory.observe("Mia lives in Porto.", key="k")
    memory.correct(1, "Mia lives in Lisbon.")
    memory.forget(seq=2)
    assert memory.observe("Mia lives in Faro.", key="k").metadata == {}


# ------------------------------------------------------------------------ sessions


def test_a_session_ends_after_an_hour_of_silence(memory: Memory) -> None:
    sessions = [memory.observe("Hm.", said_at=minutes_after_noon(minutes)).session for minutes in (0, 30, 90, 151, 152)]
    assert sessions == ["2024-05-01T12:00:00Z"] * 3 + ["2024-05-01T14:31:00Z"] * 2


def test_old_lines_do_not_join_the_current_session(memory: Memory) -> None:
    now = memory.observe("Hello.").session
    old = memory.observe("Imported.", said_at=datetime(2019, 3, 2, tzinfo=UTC)).session
    assert old == "2019-03-02T00:00:00Z" != now
    assert memory.observe("Hello again.").session != old


def test_a_line_without_a_session_joins_the_one_with_the_latest_line(memory: Memory) -> None:
    memory.observe("A.", session="a", said_at=minutes_after_noon(0))
    memory.observe("B.", session="b", said_at=minutes_after_noon(1))
    memory.observe("A.", session="a", said_at=minutes_after_noon(2))
    assert memory.observe("?", said_at=minutes_after_noon(3)).session == "a"


def test_a_new_session_never_gets_an_id_in_use(memory: Memory) -> None:
    memory.observe("Named by hand.", session="2024-05-01T12:00:00Z", said_at=minutes_after_noon(-600))
    assert memory.observe("Hm.", said_at=NOON).session == "2024-05-01T12:00:00Z-2"


def test_interleaved_sessions_are_separate(memory: Memory) -> None:
    for n in range(6):
        memory.observe(f"Line {n}.", session="ab"[n % 2], said_at=minutes_after_noon(n))
    first, second = memory.sessions()
    assert (first.id, first.first_seq, first.last_seq, first.lines) == ("a", 1, 5, 3)
    assert (second.id, second.started_at, second.last_at, second.lines) == (
        "b",
        minutes_after_noon(1),
        minutes_after_noon(5),
        3,
    )
    hit = memory.recall("Line 2", 1)[0]
    assert {line.session for line in hit.passage} == {"a"}


def test_a_session_shrinks_to_its_remaining_lines(memory: Memory) -> None:
    for n in range(4):
        memory.observe(f"Line {n}.", session="s", said_at=minutes_after_noon(n))
    memory.forget(seq=1)
    memory.forget(seq=4)
    memory.retract(2)
    (session,) = memory.sessions()
    assert (session.first_seq, session.last_seq, session.lines) == (2, 3, 1)
    assert (session.started_at, session.last_at) == (minutes_after_noon(1), minutes_after_noon(2))


# ------------------------------------------------------------------- invalid queries


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None])
def test_an_invalid_k_is_rejected(zoo: Memory, k: Any) -> None:
    with pytest.raises(BadQuery, match=r"k must be a whole number from 1, got"):
        zoo.recall("giraffe", k)


@pytest.mark.parametrize("budget", [0, -5, 10.0])
def test_an_invalid_budget_is_rejected(zoo: Memory, budget: Any) -> None:
    with pytest.raises(BadQuery, match=r"budget must be a whole number from 1, got"):
        zoo.context("giraffe", budget)


@pytest.mark.parametrize("count", ["estimate", 5])
def test_a_counter_that_can_not_be_called_is_rejected(zoo: Memory, count: Any) -> None:
    with pytest.raises(BadQuery, match=f"count must be a function of a text, got {count!r}; Memory.open"):
        zoo.context("giraffe", count=count)


def test_a_counter_that_is_neither_a_name_nor_a_function_is_refused_when_a_bank_is_opened(tmp_path: Path) -> None:
    five: Any = 5
    with pytest.raises(BadInput, match="invalid token counter 5; expected a name, such as estimate, or a function"):
        Memory.open("alice", store=tmp_path, embedder=HashEmbedder(), tokens=five)


@pytest.mark.parametrize("min_relevance", ["x", -0.1, 1.5, float("nan")])
def test_an_invalid_min_relevance_is_rejected(zoo: Memory, min_relevance: Any) -> None:
    with pytest.raises(BadQuery, match="min_relevance must be a relevance from 0 to 1, got"):
        zoo.context("lions", min_relevance=min_relevance)


@pytest.mark.parametrize("query", [None, 7, b"giraffe", ["giraffe"]])
def test_a_query_that_is_not_text_is_rejected(zoo: Memory, query: Any) -> None:
    with pytest.raises(BadQuery, match=f"query must be a str, got {type(query).__name__}"):
        zoo.recall(query)
    with pytest.raises(BadQuery, match="query must be a str"):
        zoo.context(query)


@pytest.mark.parametrize("query", ["?", "\x00", "\ud83d", "🎉", "x" * 100_000])
def test_any_text_is_a_valid_query(zoo: Memory, query: str) -> None:
    assert len(zoo.recall(query, 3)) == 3


@pytest.mark.parametrize("query", ["", "  ", "\n\t", "\u3000"])
def test_a_blank_query_finds_nothing_and_is_not_embedded(
    tmp_path: Path, moody: Moody, query: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory(tmp_path, embedder=moody) as memory, caplog.at_level(logging.WARNING):
        memory.observe("The giraffe ate acacia leaves.")
        moody.down = True
        assert memory.recall(query) == []
        for gated in (True, False):
            context = memory.context(query, gate=gated)
            assert (context.text, context.hits, context.cut, context.relevance) == ("", (), (), 0)
        with pytest.raises(BadQuery, match="has no time zone"):
            memory.recall(query, where=Filter(since=datetime(2024, 5, 1)))
        assert caplog.text == ""


def test_a_blank_query_shows_the_relevance_buffer(zoo: Memory) -> None:
    zoo.context("penguin ice", session="friday", gate=False)
    assert "penguin" in zoo.context(" ", session="friday").text
    assert "penguin" not in zoo.context(" ", session="friday", where=Filter(speaker="Ann")).text


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        (Filter(since=datetime(2024, 5, 1)), r"where\.since 2024-05-01T00:00:00 has no time zone"),
        (Filter(until="2024-05-01"), r"where\.until must be a datetime, got '2024-05-01'"),  # type: ignore[arg-type]
        (Filter(metadata={"n": float("nan")}), r"where\.metadata must be JSON-serialisable, got nan"),
        (Filter(metadata={"n": {1, 2}}), r"where\.metadata must be JSON-serialisable"),  # type: ignore[dict-item]
        (Filter(speaker=5), r"where\.speaker must be a str or a tuple of them, got 5"),  # type: ignore[arg-type]
        (Filter(session=("a", 5)), r"where\.session must be a str or a tuple of them"),  # type: ignore[arg-type]
        (Filter(role="bot"), r"unknown where\.role 'bot'; expected one of user, assistant, system, tool"),  # type: ignore[arg-type]
        (Filter(role=("user", "")), r"unknown where\.role ''"),  # type: ignore[arg-type]
        (Filter(role=""), r"unknown where\.role ''"),  # type: ignore[arg-type]
        (Filter(role=5), r"where\.role must be a str or a tuple of them, got 5"),  # type: ignore[arg-type]
        (Filter(kind=5), r"where\.kind must be a str or a tuple of them"),  # type: ignore[arg-type]
        ({"speaker": "Ann"}, r"where must be a Filter, got {'speaker': 'Ann'}; write for example Filter\("),
    ],
)
def test_an_invalid_filter_is_rejected(zoo: Memory, where: Any, remedy: str) -> None:
    with pytest.raises(BadQuery, match=remedy):
        zoo.recall("giraffe", where=where)
    with pytest.raises(BadQuery, match=remedy):
        list(zoo.lines(where))


@pytest.mark.parametrize("as_of", [datetime(2024, 5, 1), "yesterday", 5])
def test_an_invalid_as_of_is_rejected(zoo: Memory, as_of: Any) -> None:
    with pytest.raises(BadQuery, match="as_of "):
        zoo.recall("giraffe", as_of=as_of)


def test_values_that_no_bank_can_store_are_rejected(zoo: Memory) -> None:
    with pytest.raises(BadInput, match="use whole characters"):
        zoo.recall("giraffe", where=Filter(speaker="\ud83d"))
    with pytest.raises(BadInput, match="use whole characters"):
        zoo.forget(speaker="\ud83d")
    with pytest.raises(NotFound, match="has no line 1180591620717411303424; lines are counted from 1"):
        zoo.retract(2**70)
    with pytest.raises(NotFound, match="has no line 1180591620717411303424; lines are counted from 1"):
        zoo.forget(seq=2**70)
    assert zoo.stats().lines == 6


# -------------------------------------------------------------------------- filters


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), {1, 2, 3, 4, 5, 6}),
        (Filter(session="monday"), {1, 2, 3}),
        (Filter(session=("monday", "friday")), {1, 2, 3, 4, 5, 6}),
        (Filter(session=()), set()),
        (Filter(speaker="Ann"), {1, 3, 5}),
        (Filter(speaker=("Ann", "Cid", "Nobody")), {1, 3, 5, 6}),
        (Filter(speaker="ann"), set()),
        (Filter(role="assistant"), {2, 4}),
        (Filter(role=("user", "tool")), {1, 3, 5, 6}),
        (Filter(kind="line"), {1, 2, 3, 4, 5, 6}),
        (Filter(kind="fact"), set()),
        (Filter(since=minutes_after_noon(2)), {3, 4, 5, 6}),
        (Filter(until=minutes_after_noon(2)), {1, 2}),
        (Filter(since=minutes_after_noon(1), until=minutes_after_noon(61)), {2, 3, 4}),
        (Filter(since=minutes_after_noon(2).astimezone(INDIA)), {3, 4, 5, 6}),
        (Filter(metadata={"mood": "calm"}), {1}),
        (Filter(metadata={"mood": None}), {2}),
        (Filter(metadata={"n": 1}), {1}),
        (Filter(metadata={"n": True}), {3}),
        (Filter(metadata={"n": "1"}), {5}),
        (Filter(metadata={"n": 1.5}), set()),
        (Filter(metadata={"at": {"x": [1, 2]}}), {4}),
        (Filter(metadata={"at": {"x": [2, 1]}}), set()),
        (Filter(metadata={"mood": "calm", "n": 1}), {1}),
        (Filter(metadata={"mood": "calm", "n": 2}), set()),
        (Filter(metadata={"missing": None}), set()),
        (Filter(session="monday", speaker="Ann", since=minutes_after_noon(1)), {3}),
        (Filter(speaker=tuple(f"Nobody {n}" for n in range(40_000))), set()),
        (Filter(speaker="'; DROP TABLE line; --"), set()),
    ],
)
def test_a_filter_restricts_recall_and_lines(zoo: Memory, where: Filter, expected: set[int]) -> None:
    assert {line.seq for line in zoo.lines(where)} == expected
    assert seqs(zoo.recall("giraffe penguin crocodile", 10, where=where)) == expected


def test_metadata_with_keys_in_another_order_is_equal(memory: Memory) -> None:
    memory.observe("Hello.", metadata={"at": {"b": 1, "a": [{"d": 1, "c": 2}]}})
    assert seqs(memory.recall("hello", where=Filter(metadata={"at": {"a": [{"c": 2, "d": 1}], "b": 1}}))) == {1}


def test_as_of_leaves_out_later_lines(zoo: Memory) -> None:
    assert seqs(zoo.recall("giraffe owls", 10, as_of=minutes_after_noon(2))) == {1, 2, 3}
    assert zoo.recall("giraffe", as_of=minutes_after_noon(-1)) == []
    assert "owls" not in zoo.context("owls hunt mice", gate=False, as_of=minutes_after_noon(10)).text.lower()


@pytest.mark.parametrize("bank", load_first_facts()[:4], ids=lambda bank: bank.id)
def test_recall_as_of_a_time_equals_recall_at_that_time(tmp_path: Path, bank: AnnotatedConversation) -> None:
    """Statistics (word frequencies, speakers, size of the bank) are those of that time, too."""
    last = len(bank.lines) // 2
    with open_memory(tmp_path / "then") as then, open_memory(tmp_path / "now") as now:
        then.observe_many(bank.lines[:last])
        now.observe_many(bank.lines)
        now.observe("Zelda sold the greyhound, the cello and everything else I ever spoke of.", speaker="Zelda")
        moment = bank.lines[last - 1].said_at
        for text in (*(question.text for question in bank.questions), "Does Zelda like the greyhound?"):
            expected, actual = then.recall(text), now.recall(text, as_of=moment)
            assert [hit.line.seq for hit in actual] == [hit.line.seq for hit in expected]
            assert [hit.score for hit in actual] == pytest.approx([hit.score for hit in expected], abs=1e-4)
            assert [hit.relevance for hit in actual] == pytest.approx([hit.relevance for hit in expected], abs=1e-4)
            assert now.context(text, as_of=moment).text == then.context(text).text


def test_lines_can_be_read_in_pages(zoo: Memory) -> None:
    assert [line.seq for line in zoo.lines(limit=2)] == [1, 2]
    assert [line.seq for line in zoo.lines(after=2, limit=3)] == [3, 4, 5]
    assert list(zoo.lines(after=6)) == list(zoo.lines(limit=0)) == []


def test_lines_can_be_added_while_others_are_read(memory: Memory) -> None:
    memory.observe_many([NewLine(f"Line number {n}.") for n in range(2500)])
    read = 0
    for line in memory.lines():
        if line.seq in (1, 1500):
            memory.observe("Said meanwhile.")
        read += 1
    assert read == 2502


# --------------------------------------------------------------------------- recall


def test_the_answering_line_is_in_the_first_passage(zoo: Memory) -> None:
    for query, text in [
        ("What did the giraffe eat?", "giraffe"),
        ("penguin on the ice", "penguin"),
        ("hedgehog", "hedgehog"),
    ]:
        assert any(text in line.text for line in zoo.recall(query)[0].passage)


def test_recall_returns_at_most_k_hits(zoo: Memory) -> None:
    assert len(zoo.recall("giraffe", 2)) == 2
    assert len(zoo.recall("giraffe", 10**9)) == 6


def test_hits_are_ordered_by_score_and_relevance_is_a_probability(zoo: Memory) -> None:
    hits = zoo.recall("giraffe leaves", 6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.relevance <= 1 for hit in hits)


def test_a_passage_contains_the_line_and_its_neighbours_in_order(zoo: Memory) -> None:
    hit = zoo.recall("penguin ice", 1)[0]
    assert [line.seq for line in hit.passage] == sorted(line.seq for line in hit.passage)
    assert hit.line in hit.passage
    assert {line.session for line in zoo.recall("crocodiles bask", 1)[0].passage} == {"monday"}


def test_an_empty_bank_finds_nothing(memory: Memory) -> None:
    assert memory.recall("anything") == []
    context = memory.context("anything", gate=False)
    assert (context.text, context.lines, context.hits, context.tokens) == ("", (), (), 0)


def test_equal_queries_have_equal_hits(zoo: Memory) -> None:
    assert zoo.recall("owls and mice", 6) == zoo.recall("owls and mice", 6)


def test_another_memory_of_the_bank_sees_writes_at_once(zoo: Memory, tmp_path: Path) -> None:
    with open_memory(tmp_path) as other:
        assert other.recall("zebra", 1)[0].line.seq != 7
        zoo.observe("Zebra stripes confuse the lions.")
        assert other.recall("zebra stripes", 1)[0].line.seq == 7
        zoo.forget(seq=7)
        assert 7 not in seqs(other.recall("zebra stripes", 10))


def test_a_context_does_not_exceed_its_budget(zoo: Memory) -> None:
    for budget in (1, 10, 25, 60, 1000):
        context = zoo.context("giraffe penguin owls", budget, gate=False)
        assert context.tokens <= budget
        assert {hit.line.seq for hit in context.hits} <= {line.seq for line in context.lines}
        assert all(line.text in context.text for line in context.lines)


# -------------------------------------------------------------------------- retract


def test_a_retracted_line_is_never_recalled_but_stays_in_the_record(zoo: Memory) -> None:
    zoo.context("penguin ice", session="friday", gate=False)  # its passage is now in the buffer
    retracted = zoo.retract(2)
    assert retracted.text == "A penguin waddled over the ice."
    assert retracted.retracted_at is not None
    for query in ("penguin waddled ice", "giraffe", "crocodiles"):
        assert all(line.seq != 2 for hit in zoo.recall(query, 10) for line in (hit.line, *hit.passage))
        assert "penguin" not in zoo.context(query, session="friday", gate=False).text
    assert 2 not in {line.seq for line in zoo.lines()}
    assert [line for line in zoo.lines(include_retracted=True) if line.retracted_at] == [retracted]
    assert (zoo.stats().lines, zoo.stats().retracted, zoo.stats().pending) == (5, 1, 0)
    assert zoo.store.check("alice") == []


def test_retracting_twice_equals_retracting_once(zoo: Memory) -> None:
    first = zoo.retract(2)
    assert zoo.retract(2) == first
    assert (zoo.stats().lines, zoo.stats().retracted) == (5, 1)
    assert zoo.store.check("alice") == []


def test_a_line_stored_as_retracted_is_not_recalled(zoo: Memory) -> None:
    (gone,) = zoo.observe_many(
        [NewLine("A zebra grazed.", "Ann", session="friday", retracted_at=minutes_after_noon(90))]
    )
    assert (gone.seq, gone.retracted_at) == (7, minutes_after_noon(90))
    assert list(zoo.lines(after=6)) == []
    assert list(zoo.lines(after=6, include_retracted=True)) == [gone]
    assert zoo.recall("zebra grazed", 10, where=Filter(session="friday"))
    for hit in zoo.recall("zebra grazed", 10):
        assert gone not in hit.passage
    assert (zoo.stats().lines, zoo.stats().retracted, zoo.stats().vectors) == (6, 1, {"hash-512": 6})
    assert zoo.store.check("alice") == []
    assert zoo.observe("It is true.", parent=7).parent == 7


@pytest.mark.parametrize("seq", [0, -1, 7])
def test_a_missing_line_can_not_be_retracted(zoo: Memory, seq: int) -> None:
    with pytest.raises(NotFound, match=f"bank 'alice' has no line {seq}"):
        zoo.retract(seq)


def test_a_retracted_line_can_be_forgotten(zoo: Memory) -> None:
    zoo.retract(2)
    zoo.forget(seq=2)
    assert 2 not in {line.seq for line in zoo.lines(include_retracted=True)}
    assert (zoo.stats().lines, zoo.stats().retracted) == (5, 0)
    assert zoo.store.check("alice") == []


# --------------------------------------------------------------------------- forget


@pytest.mark.parametrize(
    ("what", "gone", "ranges"),
    [
        ({"seq": 2}, {2}, ((2, 2),)),
        ({"session": "monday"}, {1, 2, 3}, ((1, 3),)),
        ({"speaker": "Ann"}, {1, 3, 5}, ((1, 1), (3, 3), (5, 5))),
    ],
)
def test_forget_removes_only_the_lines_of_its_scope(zoo: Memory, what: Any, gone: set[int], ranges: Any) -> None:
    receipt = zoo.forget(**what)
    assert (receipt.seqs, receipt.lines) == (ranges, len(gone))
    remaining = {1, 2, 3, 4, 5, 6} - gone
    assert (
        {line.seq for line in zoo.lines(include_retracted=True)} == remaining == seqs(zoo.recall("giraffe penguin", 10))
    )
    assert zoo.stats().vectors == {"hash-512": len(remaining)}
    assert zoo.store.check("alice") == []
    assert zoo.observe("Next.").seq == 7  # a number is never used again


def test_forgetting_a_bank_removes_its_file(zoo: Memory, tmp_path: Path) -> None:
    receipt = zoo.forget(everything=True)
    assert (receipt.scope, receipt.lines, receipt.seqs) == ("bank", 6, ((1, 6),))
    assert [path.name for path in tmp_path.iterdir()] == ["receipts.jsonl"]
    assert texts(zoo.lines()) == texts(zoo.recall("giraffe")) == []
    assert zoo.observe("A new beginning.").seq == 1


@pytest.mark.parametrize(
    ("what", "named"),
    [({"seq": 99}, "line 99"), ({"session": "tuesday"}, "session 'tuesday'"), ({"speaker": "Zoe"}, "speaker 'Zoe'")],
)
def test_a_missing_line_session_or_speaker_can_not_be_forgotten(
    zoo: Memory, what: Any, named: str, tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match=f"bank 'alice' has no {named}; nothing was forgotten"):
        zoo.forget(**what)
    assert zoo.stats().lines == 6
    assert not (tmp_path / "receipts.jsonl").exists()


@pytest.mark.parametrize("what", [{}, {"seq": 1, "speaker": "Ann"}, {"everything": True, "session": "monday"}])
def test_forget_takes_exactly_one_scope(zoo: Memory, what: Any) -> None:
    with pytest.raises(BadQuery, match="exactly one of seq, session, speaker, everything=True"):
        zoo.forget(**what)
    assert zoo.stats().lines == 6


@pytest.mark.parametrize("everything", ["yes", 1, None])
def test_everything_is_forgotten_only_for_true(zoo: Memory, everything: Any) -> None:
    with pytest.raises(BadQuery, match=f"everything must be True or False, got {everything!r}"):
        zoo.forget(everything=everything)
    assert zoo.stats().lines == 6


@pytest.mark.parametrize("lines", [None, 5, NewLine("One.")])
def test_lines_that_are_not_several_are_rejected(memory: Memory, lines: Any) -> None:
    with pytest.raises(BadLine, match="lines must be an iterable of NewLine, such as a list, got "):
        memory.observe_many(lines)


def test_a_line_without_a_role_is_rejected_by_its_role(memory: Memory) -> None:
    with pytest.raises(BadLine, match="unknown role None; expected one of user, assistant, system, tool"):
        memory.observe("Hello.", role=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("seq", [True, "2", 2.0])
def test_forgetting_a_line_by_an_invalid_number_is_rejected(zoo: Memory, seq: Any) -> None:
    with pytest.raises(BadQuery, match="seq must be a whole number, got"):
        zoo.forget(seq=seq)
    assert zoo.stats().lines == 6


def test_forgetting_does_not_change_the_hits_of_unrelated_queries(memory: Memory) -> None:
    animals = "giraffe penguin crocodile kangaroo owl hedgehog walrus lemur otter bison".split()
    memory.observe_many([NewLine(f"The {animal} sleeps.", "Ann", session=animal) for animal in animals])
    memory.observe_many([NewLine(f"Quarterly invoice {n} overdue.", "Bob", session="work") for n in range(20)])
    before = {animal: [hit.line.seq for hit in memory.recall(f"the {animal} sleeps", 3)][:1] for animal in animals}
    memory.forget(speaker="Bob")
    assert {
        animal: [hit.line.seq for hit in memory.recall(f"the {animal} sleeps", 3)][:1] for animal in animals
    } == before


# ------------------------------------------------------------------ embedders that fail


@pytest.fixture
def moody() -> Moody:
    return Moody()


def test_lines_stored_without_an_embedder_are_found_by_keyword(
    tmp_path: Path, moody: Moody, caplog: pytest.LogCaptureFixture
) -> None:
    moody.down = True
    with open_memory(tmp_path, embedder=moody) as memory, caplog.at_level(logging.WARNING):
        memory.observe("The ferry to Naxos leaves at noon.")
        memory.observe_many([NewLine("We packed three suitcases."), NewLine("The hotel has a pool.")])
        assert memory.recall("ferry Naxos")[0].line.seq == 1
        assert (memory.stats().lines, memory.stats().pending, memory.stats().vectors) == (3, 3, {})
        assert memory.store.check("alice") == []
    assert "run reindex later: moody did not answer within 10 s" in caplog.text


class Unreachable(Moody):
    """An embedder whose client raises errors of its own while the server is down."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise httpx.ConnectError("connection refused")
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        if self.down:
            raise httpx.ConnectError("connection refused")
        return super().embed_query(text)


def test_no_text_is_logged_if_the_error_of_an_embedder_quotes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Quoting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            raise ValueError(f"input too long: {texts[0][:30]!r}…")

    with open_memory(tmp_path, embedder=Quoting()) as memory, caplog.at_level(logging.DEBUG):
        memory.observe("My sister Mia is in hospital in Lisbon.")
    assert "hash-64 failed: ValueError: its message, which quotes a text, is left out" in caplog.text
    assert "Mia" not in caplog.text


def test_a_line_is_stored_and_found_whatever_error_an_embedder_raises(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Unreachable()
    embedder.down = True
    with open_memory(tmp_path, embedder=embedder) as memory, caplog.at_level(logging.WARNING):
        memory.observe("The ferry to Naxos leaves at noon.")
        assert memory.recall("ferry Naxos")[0].line.seq == 1
        assert memory.context("When does the ferry to Naxos leave?").lines
        with pytest.raises(EmbedderUnavailable, match="moody failed: ConnectError: connection refused"):
            memory.reindex()
        embedder.down = False
        assert memory.reindex() == 1
    assert "run reindex later: moody failed: ConnectError: connection refused" in caplog.text


def test_vectors_of_nan_are_not_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return np.full_like(super().embed(texts), np.nan)

    with open_memory(tmp_path, embedder=Broken()) as memory, caplog.at_level(logging.WARNING):
        memory.observe("The ferry to Naxos leaves at noon.")
        assert (memory.stats().lines, memory.stats().pending) == (1, 1)
    assert "returned vectors that contain NaN or infinity" in caplog.text


def test_reindex_embeds_lines_without_vectors(tmp_path: Path, moody: Moody) -> None:
    moody.down = True
    with open_memory(tmp_path, embedder=moody) as memory:
        memory.observe("The ferry to Naxos leaves at noon.")
    moody.down = False
    with open_memory(tmp_path, embedder=moody) as memory:  # another memory has no cooldown to wait for
        memory.observe("We packed three suitcases.")
        assert memory.stats().pending == 1
        assert memory.reindex() == 1
        assert (memory.stats().pending, memory.stats().vectors) == (0, {"moody": 2})
        assert memory.recall("ferry to Naxos leaves at noon")[0].signals["cosine"] > 0.5
        assert memory.reindex() == 0


def test_a_bank_without_vectors_of_the_current_model_is_logged_once(
    tmp_path: Path, moody: Moody, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory(tmp_path, embedder=moody) as memory:
        memory.observe("The ferry to Naxos leaves at noon.")
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory, caplog.at_level(logging.WARNING):
        assert memory.recall("ferry")
        assert memory.recall("Naxos")
    assert caplog.text.count("has no vectors of hash") == 1
    assert "run reindex" in caplog.text


def test_a_bank_whose_lines_are_merely_pending_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_memory(tmp_path) as memory:
        memory.replace_lines([], [NewLine("The ferry to Naxos leaves at noon.")], defer_embedding=True)
    with open_memory(tmp_path) as memory, caplog.at_level(logging.WARNING):
        assert memory.stats().pending == 1
        assert memory.recall("ferry")
    assert caplog.text == ""


def test_reindex_raises_embedder_unavailable_if_the_embedder_is_down(tmp_path: Path, moody: Moody) -> None:
    moody.down = True
    with open_memory(tmp_path, embedder=moody) as memory:
        memory.observe("The ferry to Naxos leaves at noon.")
        with pytest.raises(EmbedderUnavailable, match="did not answer within 10 s"):
            memory.reindex()
        assert memory.stats().pending == memory.stats().lines == 1


def test_an_interrupted_reindex_continues_where_it_stopped(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        memory.observe_many([NewLine(f"Line number {n}.") for n in range(2 * BATCH_LINES + 88)])
    progress: list[int] = []
    with open_memory(tmp_path, embedder=Moody(calls=2)) as memory:
        with pytest.raises(EmbedderUnavailable):
            memory.reindex(progress.append)
        assert progress == [BATCH_LINES, 2 * BATCH_LINES]
        assert (memory.stats().pending, memory.stats().vectors) == (
            88,
            {"hash-512": 2 * BATCH_LINES + 88, "moody": 2 * BATCH_LINES},
        )
    with open_memory(tmp_path, embedder=Moody()) as memory:
        assert memory.reindex() == 88
        assert (memory.stats().pending, memory.stats().vectors) == (0, {"moody": 2 * BATCH_LINES + 88})
        assert memory.store.check("alice") == []


def test_vectors_of_different_models_are_never_compared(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=Moody("one")) as memory:
        memory.observe("The ferry to Naxos leaves at noon.")
    with open_memory(tmp_path, embedder=Moody("two")) as memory:
        memory.observe("We packed three suitcases.")
        candidates, _ = memory.reader.measure_candidates(Query("ferry to Naxos"))
        assert [str(value) == "nan" for value in candidates.cosine.tolist()] == [True, False]
        assert memory.recall("ferry Naxos")[0].line.seq == 1  # by keyword
        assert (memory.stats().pending, memory.stats().vectors) == (1, {"one": 1, "two": 1})
        memory.reindex()
        assert memory.stats().vectors == {"two": 2}


def test_reindex_replaces_vectors_of_another_dimension(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=Moody(dim=64)) as memory:
        memory.observe("The ferry to Naxos leaves at noon.")
    with open_memory(tmp_path, embedder=Moody(dim=48)) as memory:
        assert memory.recall("ferry Naxos")[0].line.seq == 1
        memory.observe("We packed three suitcases.")
        assert memory.recall("ferry Naxos")[0].line.seq == 1
        assert memory.stats().pending == 1
        assert memory.reindex() == 1
        assert memory.stats().pending == 0
        assert memory.recall("ferry to Naxos leaves at noon")[0].signals["cosine"] > 0.5
        assert memory.store.check("alice") == []


def test_a_retracted_line_gets_no_vector(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=Moody("one")) as memory:
        memory.observe_many([NewLine("Keep this."), NewLine("Not this.")])
        memory.retract(2)
    with open_memory(tmp_path, embedder=Moody("two")) as memory:
        assert memory.reindex() == 1
        assert memory.stats().vectors == {"two": 1}


# ----------------------------------------------------------------------------- stats


def test_stats_count_the_contents_of_the_bank(zoo: Memory, tmp_path: Path) -> None:
    zoo.retract(6)
    stats = zoo.stats()
    assert (stats.bank, stats.lines, stats.retracted, stats.sessions) == ("alice", 5, 1, 2)
    assert stats.speakers == ("Ann", "Bob", "Cid")
    assert (stats.first_said_at, stats.last_said_at) == (minutes_after_noon(0), minutes_after_noon(62))
    assert (stats.vectors, stats.pending) == ({"hash-512": 5}, 0)
    assert (stats.recipe, stats.embedder) == ("default", "hash-512")
    assert stats.bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


# ------------------------------------------------------------------------ concurrency


def test_many_threads_can_observe_and_recall_at_once(memory: Memory) -> None:
    memory.observe("whole 0 0 end")

    def work(number: int) -> int:
        for n in range(1, 13):
            if number % 2:
                assert memory.observe(f"whole {number} {n} end", session=f"s{number}").seq
            else:
                hits = memory.recall("whole end", 5)
                assert hits
                for line in (line for hit in hits for line in hit.passage):
                    assert line.text.startswith("whole ")
                    assert line.text.endswith(" end")
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    lines = list(memory.lines())
    assert [line.seq for line in lines] == list(range(1, 50))
    assert len({line.text for line in lines}) == 49
    assert memory.store.check("alice") == []


@pytest.mark.slow
def test_recall_during_forgetting_never_returns_forgotten_lines(memory: Memory) -> None:
    memory.observe_many([NewLine(f"secret number {n} of the vault", session=str(n)) for n in range(40)])
    gone: set[int] = set()

    def forget() -> None:
        for seq in range(1, 21):
            memory.forget(seq=seq)
            gone.add(seq)

    def recall() -> None:
        while len(gone) < 20:
            before = set(gone)
            recalled = seqs(memory.recall("secret vault", 40))
            assert not recalled & before

    with ThreadPoolExecutor(3) as pool:
        for task in [pool.submit(forget), pool.submit(recall), pool.submit(recall)]:
            task.result()
    assert memory.store.check("alice") == []


# ----------------------------------------------------------------------- damaged banks


@pytest.fixture
def intact(tmp_path: Path) -> bytes:
    with open_memory(tmp_path) as memory:
        memory.observe_many([NewLine(f"Line number {n} of the log.") for n in range(400)])
    return (tmp_path / "alice.bank").read_bytes()


@pytest.mark.parametrize(
    "damage", [lambda b: b"garbage! " * 12 + b[108:], lambda b: b[: len(b) // 2], lambda b: b[: 4096 + 100]]
)
def test_a_damaged_bank_raises_an_error_with_the_remedy(intact: bytes, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "alice.bank"
    path.write_bytes(damage(intact))

    def use() -> None:
        with open_memory(tmp_path) as memory:
            list(memory.lines())
            memory.recall("log")
            memory.observe("One more.")

    with pytest.raises(BankDamaged, match=r"bank 'alice' \(.*alice\.bank\) is damaged: .*Restore a copy, or recover"):
        use()
    path.write_bytes(intact)
    with open_memory(tmp_path) as memory:  # the restored copy
        assert memory.stats().lines == 400


def test_garbage_in_the_middle_is_found_by_check(intact: bytes, tmp_path: Path) -> None:
    middle = len(intact) // 2 // 4096 * 4096
    (tmp_path / "alice.bank").write_bytes(intact[:middle] + b"\xa5" * 4096 + intact[middle + 4096 :])
    with open_memory(tmp_path) as memory:
        try:
            faults = memory.store.check("alice")
        except BankDamaged as error:
            faults = [str(error)]
    assert faults


def test_inconsistent_counts_are_found_by_check(memory: Memory, tmp_path: Path) -> None:
    memory.observe_many([NewLine("One two three."), NewLine("Four five.")])
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("DELETE FROM posting WHERE term = 'two'")
        db.execute("UPDATE bank SET lines = 3, last_seq = 1")
        db.execute("DELETE FROM block WHERE of = 0")
    faults = "\n".join(memory.store.check("alice"))
    for words in (
        "lines: 3 recorded, 2 found",
        "word records",
        "packed lines",
        "the last seq is 1, but line 2 exists",
    ):
        assert words in faults


def test_replacing_lines_is_atomic(memory: Memory) -> None:
    one, two, three = (memory.observe(text, session="s").seq for text in ("one", "two", "three"))
    with pytest.raises(BadLine):
        memory.replace_lines([two, three], [NewLine("four", session="s"), NewLine(" ", session="s")])
    assert [line.text for line in memory.lines()] == ["one", "two", "three"]
    (four,) = memory.replace_lines([three, two, 99], [NewLine("four", session="s", parent=one)])
    assert [line.text for line in memory.lines()] == ["one", "four"]
    assert memory.replace_lines([four.seq, two]) == []
    assert [line.text for line in memory.lines()] == ["one"]
    assert memory.stats().retracted == 3
    assert memory.store.check(memory.bank) == []


def test_replace_lines_rejects_invalid_numbers(memory: Memory) -> None:
    with pytest.raises(BadQuery, match="seqs must be the seqs of lines"):
        memory.replace_lines(["1"])  # type: ignore[list-item]


def test_a_session_can_be_ended_at_a_given_time(memory: Memory) -> None:
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    memory.observe("one", session="s")
    memory.end("s", at)
    assert memory.sessions()[0].ended_at == at
