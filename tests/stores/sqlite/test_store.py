"""The embedded store compared with a model in plain Python after any sequence of steps."""

import json
import re
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hardship import PATIENCE
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import everthread
from everthread import Filter, Line, Memory, NewLine, NewUnit, Receipt
from everthread.common.keys import META_KEY_FROM, SETTING_PERSON_NAMES
from everthread.errors import NotFound, StoreUnavailable
from everthread.stores.sqlite import line_removal
from everthread.stores.sqlite.cache import BankCache
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SPEAKERS, SESSIONS = ("Ann", "Bob", "Cid"), ("monday", "friday")


@dataclass
class Model:
    """The expected contents of a bank."""

    last: int = 0
    lines: dict[int, Line] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # texts of forgotten lines

    def observe(self, new: NewLine) -> Line:
        old = next((line for line in self.lines.values() if new.key is not None and line.key == new.key), None)
        if old is not None and old.retracted_at is None:
            return old
        self.last += 1
        assert new.session is not None
        assert new.said_at is not None
        line = Line(self.last, new.session, new.role, new.speaker, new.text, new.said_at, key=new.key)
        if old is not None:  # a retracted line passes its key on
            self.lines[old.seq] = replace(old, key=None)
            line = replace(line, metadata={META_KEY_FROM: old.seq})
        self.lines[self.last] = line
        return line

    def forget(self, chosen: Sequence[int]) -> None:
        self.gone += [self.lines.pop(seq).text for seq in chosen]

    @property
    def live(self) -> list[Line]:
        return [line for line in self.lines.values() if line.retracted_at is None]


def new_lines(draws: Sequence[tuple[int, str, str, int | None]], model: Model) -> list[NewLine]:
    """Return lines with a unique word each, which tests search for in the files afterwards."""
    begun = model.last + len(model.gone)
    return [
        NewLine(
            f"zq{begun:03d}x{n:02d} speaks of topic{topic} {'again and again ' * topic}",
            speaker,
            said_at=NOON + timedelta(minutes=topic),
            session=session,
            key=None if key is None else f"key{key}",
        )
        for n, (topic, speaker, session, key) in enumerate(draws)
    ]


drawn = st.tuples(
    st.integers(0, 20), st.sampled_from(SPEAKERS), st.sampled_from(SESSIONS), st.none() | st.integers(0, 3)
)
steps = st.lists(
    st.tuples(st.just("observe"), st.lists(drawn, min_size=1, max_size=1))
    | st.tuples(st.just("observe"), st.lists(drawn, max_size=6))
    | st.tuples(st.sampled_from(["retract", "forget seq"]), st.integers(1, 12))
    | st.tuples(st.just("forget session"), st.sampled_from(SESSIONS))
    | st.tuples(st.just("forget speaker"), st.sampled_from(SPEAKERS)),
    max_size=12,
)


def apply_step(memory: Memory, model: Model, step: str, value: Any) -> None:
    """Apply a step to the store and the model, and check that both have the same outcome."""
    if step == "observe":
        offered = new_lines(value, model)
        assert memory.observe_many(offered) == [model.observe(each) for each in offered]
        return
    field = {"retract": "seq", "forget seq": "seq", "forget session": "session", "forget speaker": "speaker"}[step]
    chosen = [seq for seq, line in model.lines.items() if getattr(line, field) == value]
    try:
        if step == "retract":
            line = memory.retract(value)
            model.lines[value] = replace(model.lines[value], retracted_at=line.retracted_at)
            assert line.retracted_at is not None
        else:
            assert memory.forget(**{field: value}).lines == len(chosen)
            model.forget(chosen)
    except NotFound:
        assert chosen == []


def assert_matches_model(memory: Memory, model: Model, folder: Path) -> None:
    assert list(memory.lines(include_retracted=True)) == list(model.lines.values())
    assert list(memory.lines()) == model.live
    stats = memory.stats()
    assert (stats.lines, stats.retracted) == (len(model.live), len(model.lines) - len(model.live))
    assert stats.speakers == tuple(sorted({line.speaker for line in model.lines.values()}))
    assert (stats.vectors.get("hash-64", 0), stats.pending) == (len(model.live), 0)
    by_session = {session: [line for line in model.lines.values() if line.session == session] for session in SESSIONS}
    for session in memory.sessions():
        of_session = by_session.pop(session.id)
        assert (session.first_seq, session.last_seq) == (of_session[0].seq, of_session[-1].seq)
        assert (session.started_at, session.last_at) == (
            min(each.said_at for each in of_session),
            max(each.said_at for each in of_session),
        )
        assert session.lines == len([each for each in of_session if each in model.live])
    assert not any(by_session.values())
    for line in list(model.lines.values())[:3]:
        recalled = {neighbour.seq for hit in memory.recall(line.text, 50) for neighbour in (hit.line, *hit.passage)}
        assert recalled == {each.seq for each in model.live}
    assert memory.store.check("alice") == []
    stored_bytes = b"".join(path.read_bytes() for path in folder.iterdir())
    assert [text for text in model.gone if text.split()[0].encode() in stored_bytes] == []


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
@example([("observe", [(0, "Ann", "monday", 0)]), ("retract", 1), ("observe", [(0, "Ann", "monday", 0)])])
def test_a_bank_matches_a_plain_list(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]) -> None:
    folder, model = tmp_path_factory.mktemp("bank"), Model()
    with Memory.open("alice", store=folder, embedder=HashEmbedder()) as memory:
        for step, value in steps:
            apply_step(memory, model, step, value)
        assert_matches_model(memory, model, folder)
    with Memory.open("alice", store=folder, embedder=HashEmbedder()) as memory:  # also on the disk
        assert_matches_model(memory, model, folder)


# ------------------------------------------------------------------- forgotten bytes


def count_canaries(folder: Path) -> dict[str, int]:
    """Return the remaining canaries by file."""
    counts = {path.name: path.read_bytes().lower().count(b"zqxcanary") for path in folder.iterdir()}
    return {name: count for name, count in counts.items() if count}


def canary_lines(count: int, seed: int) -> list[NewLine]:
    """Return lines in random order, so that SQLite moves rows between pages; a third has canaries."""
    random = np.random.default_rng(seed)
    lines = []
    for n in range(count):
        name = "zqxcanary" if n % 3 == 0 else "zpx"
        words = [f"{name}{random.integers(10**9)}" for _ in range(6)]
        lines.append(
            NewLine(
                " ".join(words) + " porridge" * int(random.integers(40)),
                speaker="Zqxcanary" if n % 3 == 0 else "Bob",
                session=f"{name} session {n % 7}",
                metadata={"note": words[0], words[1]: 1},
                key=f"{words[2]} key",
            )
        )
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_forgotten_line_leaves_no_byte_anywhere(tmp_path: Path, seed: int) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        lines = canary_lines(600, seed)
        for start in range(0, len(lines), 37):
            memory.observe_many(lines[start : start + 37])
        assert count_canaries(tmp_path)
        memory.forget(speaker="Zqxcanary")
        assert count_canaries(tmp_path) == {}
        assert memory.store.check("alice") == []
        assert memory.stats().lines == 400
        left = memory.recall("porridge " + lines[1].text, 1)[0].line
        assert left.speaker == "Bob"
    assert count_canaries(tmp_path) == {}


@pytest.mark.parametrize(
    "what", [{"seq": 2}, {"session": "zqxcanary session"}, {"speaker": "Zqxcanary"}, {"everything": True}]
)
def test_every_way_of_forgetting_leaves_no_byte(tmp_path: Path, what: Any) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("Nothing to hide.", session="open")
        memory.observe(
            "The zqxcanary sings. I live in Zqxcanary.",
            speaker="Zqxcanary",
            session="zqxcanary session",
            metadata={"zqxcanary": "zqxcanary"},
            key="zqxcanary",
        )
        memory.observe("Nothing to hide here.", session="open")
        memory.context("sings", session="zqxcanary session", gate=False)
        memory.set_setting(SETTING_PERSON_NAMES, ["Zqxcanary"])
        (fact,) = memory.facts()
        memory.correct_fact(fact.id, "Zqxcanary Hill")
        memory.forget(**what)
        assert count_canaries(tmp_path) == {}
    assert count_canaries(tmp_path) == {}


def test_an_interrupted_erasure_is_finished_when_the_bank_is_opened(tmp_path: Path) -> None:
    """Simulate a process that was killed between deleting the rows and rewriting the file."""
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many(canary_lines(300, 9))
    with closing(sqlite3.connect(tmp_path / "alice.bank", isolation_level=None)) as db:
        db.execute("CREATE TABLE remains (text TEXT)")
        db.execute("INSERT INTO remains SELECT text FROM line")
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("DROP TABLE remains")
        for (seq,) in db.execute("SELECT seq FROM line WHERE text LIKE 'zqx%'").fetchall():
            db.execute("DELETE FROM line WHERE seq = ?", (seq,))
        db.execute("DELETE FROM session WHERE session_id LIKE 'zqx%'")
        db.execute("DELETE FROM speaker WHERE name LIKE 'zqx%'")
        db.execute("DELETE FROM posting WHERE term LIKE 'zqx%'")
        db.execute("PRAGMA user_version = 1")
    assert count_canaries(tmp_path)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()):
        assert count_canaries(tmp_path) == {}
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (0,)


def test_units_derived_from_a_forgotten_line_are_deleted(tmp_path: Path) -> None:
    def units() -> list[tuple[str, bool]]:
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as db:
            return db.execute("SELECT text, retracted_at IS NULL FROM unit ORDER BY unit_id").fetchall()

    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"Line {n}.") for n in range(1, 7)])
        for text, first, last in (("of 1 and 2", 1, 2), ("of 3 to 5", 3, 5), ("of 6", 6, 6)):
            memory.add_unit(NewUnit("summary", text, first, last, datetime(2024, 5, 6, tzinfo=UTC)))
        memory.retract(4)
        assert units() == [("of 1 and 2", True), ("of 3 to 5", False), ("of 6", True)]
        memory.forget(seq=2)
        assert units() == [("of 3 to 5", False), ("of 6", True)]
        assert memory.store.check("alice") == []


def test_a_receipt_contains_numbers_and_no_text(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"Secret {n}.", speaker=SPEAKERS[n % 2], session="hidden") for n in range(4)])
        receipts = [memory.forget(speaker="Ann"), memory.forget(seq=2), memory.forget(everything=True)]
    assert receipts[0] == Receipt(
        sha256(b"alice").hexdigest(), "speaker", ((1, 1), (3, 3)), 2, receipts[0].forgotten_at
    )
    rows = [json.loads(row) for row in (tmp_path / "receipts.jsonl").read_text().splitlines()]
    assert [row["scope"] for row in rows] == ["speaker", "line", "bank"]
    assert [row["lines"] for row in rows] == [2, 1, 1]
    written = (tmp_path / "receipts.jsonl").read_text()
    assert not any(word in written for word in ("Secret", "Ann", "hidden", "alice"))


def test_forgotten_bytes_are_erased_even_if_the_receipt_cannot_be_written(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine("The zqxcanary sings."), NewLine("Nothing to hide.")])
        (tmp_path / "receipts.jsonl").mkdir()
        with pytest.raises(StoreUnavailable, match="are forgotten, but the receipt could not be written to") as caught:
            memory.forget(seq=1)
        assert "Nothing was stored" not in str(caught.value)
        (tmp_path / "receipts.jsonl").rmdir()
        assert count_canaries(tmp_path) == {}
        assert [line.seq for line in memory.lines()] == [2]
        assert memory.store.check("alice") == []


def test_forgetting_deletes_the_buffers_of_deleted_sessions_only(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine("Hello.", session="old"), NewLine("Hi.", session="other")])
        for session in ("old", "other", "not begun"):
            memory.store.set_buffer("alice", session, [(1, 2)])
        memory.forget(session="old")
        buffers = {session: memory.store.buffer("alice", session) for session in ("old", "other", "not begun")}
        assert buffers == {"old": [], "other": [(1, 2)], "not begun": [(1, 2)]}


@pytest.mark.parametrize("damage", [lambda b: b"garbage! " * 500 + b[4500:], lambda b: b[:5000], lambda b: b"hello"])
def test_a_damaged_bank_can_be_forgotten(tmp_path: Path, damage: Any) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"Line {n}.") for n in range(100)])
    path = tmp_path / "alice.bank"
    path.write_bytes(damage(path.read_bytes()))
    with closing(SQLiteStore(tmp_path)) as store:
        receipt = store.forget("alice", "bank", None, NOON)
        assert (receipt.scope, receipt.lines, receipt.seqs) == ("bank", 0, ())  # their number can't be known
        assert [each.name for each in tmp_path.iterdir()] == ["receipts.jsonl"]
        memory = Memory.open("alice", store=store, embedder=HashEmbedder())
        assert memory.observe("A new beginning.").seq == 1


def test_a_bank_of_a_later_version_can_be_forgotten(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("For later.")
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("INSERT INTO migration VALUES (99, 0)")
    with closing(SQLiteStore(tmp_path)) as store:
        assert store.forget("alice", "bank", None, NOON).lines == 0
        assert [each.name for each in tmp_path.iterdir()] == ["receipts.jsonl"]


def test_forgetting_many_lines_counts_each_session_once(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"Line {n} of it.", SPEAKERS[n % 2], session=str(n % 4)) for n in range(200)])
        said: list[str] = []
        with memory.store._bank("alice").file.write_transaction() as db:  # type: ignore[attr-defined]
            db.set_trace_callback(said.append)
            line_removal.forget(db, "alice", "speaker", "Ann")
            db.set_trace_callback(None)
        assert len([sql for sql in said if sql.startswith("UPDATE session SET lines")]) == 2
        assert len([sql for sql in said if sql.startswith("UPDATE bank SET lines")]) == 1
        assert memory.store.check("alice") == []


# -------------------------------------------------------------- statistics among some lines


def test_statistics_within_lines_equal_those_of_a_bank_of_these_lines(tmp_path: Path) -> None:
    """Lines, words, speakers and sessions are counted as if there were no later lines."""
    lines = [
        NewLine(f"Word{n % 7} and word{n % 3} again.", SPEAKERS[n % 2 + n // 40], said_at=said, session=str(n // 15))
        for n in range(80)
        for said in [NOON + timedelta(minutes=n)]
    ]
    with closing(SQLiteStore(tmp_path)) as store:
        whole, early = (Memory.open(name, store=store, embedder=HashEmbedder()) for name in ("whole", "early"))
        whole.observe_many(lines)
        early.observe_many(lines[:35])
        before = store.filter_seqs("whole", Filter(), NOON + timedelta(minutes=34))
        assert before is not None
        corpus = store.corpus_stats("whole", before)
        assert replace(corpus, last_seq=35) == store.corpus_stats("early")
        assert (corpus.last_seq, corpus.names) == (80, ("Ann", "Bob"))
        seqs = np.arange(20, 60)
        restricted, separate = store.scoring_rows("whole", seqs, before), store.scoring_rows("early", seqs)
        assert restricted.lines.tolist() == separate.lines.tolist()
        assert restricted.sessions.tolist() == separate.sessions.tolist()
        terms = ["word1", "word5", "word9"]
        within_lines = store.postings("whole", terms, 9, 1000, before)
        assert {term: (each.df, each.records.tolist()) for term, each in within_lines.items()} == {
            term: (each.df, each.records.tolist()) for term, each in store.postings("early", terms, 9, 1000).items()
        }


def test_the_rows_of_sessions_follow_the_changes_of_another_process(tmp_path: Path) -> None:
    lines = [NewLine(f"Word{n} again and again.", "Ann", said_at=NOON, session="abc"[n % 3]) for n in range(9)]

    def read_sessions(store: SQLiteStore) -> list[list[int]]:
        sessions: list[list[int]] = store.scoring_rows("alice", np.arange(1, 10)).sessions.tolist()
        return sessions

    with closing(SQLiteStore(tmp_path)) as store, closing(SQLiteStore(tmp_path)) as other:
        Memory.open("alice", store=store, embedder=HashEmbedder()).observe_many(lines[:5])
        elsewhere = Memory.open("alice", store=other, embedder=HashEmbedder())
        seen = [read_sessions(store)]
        changes = (
            lambda: elsewhere.observe_many(lines[5:]),
            lambda: elsewhere.retract(3),
            lambda: elsewhere.forget(seq=5),
        )
        for change in changes:
            change()
            with closing(SQLiteStore(tmp_path)) as fresh:
                assert read_sessions(store) == read_sessions(other) == read_sessions(fresh)
            assert read_sessions(store) not in seen
            seen.append(read_sessions(store))


# ------------------------------------------------------------------------ lines without vectors


def test_lines_without_a_vector_are_found_after_a_cursor(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.observe_many([NewLine(f"Line {n}.") for n in range(10)])
        memory.retract(4)
        store = memory.store
        store.put_vectors(
            "alice", "other", {seq: np.ones((1, 8), np.float32) for seq in (2, 7)}, store.get("alice", [2, 7])
        )

        def pending(limit: int, after: int = 0) -> list[int]:
            return [line.seq for line in store.lines_without_vectors("alice", "other", 8, limit, after)]

        assert pending(99) == [1, 3, 5, 6, 8, 9, 10]
        assert pending(2, after=3) == [5, 6]
        assert pending(99, after=10) == []
        assert [line.seq for line in store.lines_without_vectors("alice", "other", 9, 2)] == [1, 2]
        assert memory.stats().vectors == {"hash-64": 9, "other": 2}


# ---------------------------------------------------------------------------- numbers of models


def test_a_model_takes_one_number_however_often_it_is_written(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        for n in range(5):
            memory.observe(f"Line {n}.")
        memory.store.put_vectors("alice", "other", {2: np.ones((1, 8), np.float32)}, memory.store.get("alice", [2]))
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as db:
            models = db.execute("SELECT number, name FROM model ORDER BY number").fetchall()
        assert models == [(1, "hash-64"), (2, "other")]


def test_exhausted_model_numbers_are_reported_and_the_bank_stays_sound(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.observe("The porridge is hot.")
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
            db.execute("UPDATE sqlite_sequence SET seq = ?", ((1 << 19) - 2,))
        store, vector = memory.store, np.ones((1, 8), np.float32)
        store.put_vectors("alice", "last", {1: vector}, store.get("alice", [1]))
        assert store.cosines("alice", "last", vector[0], np.array([1])).tolist() == [8]
        with pytest.raises(
            StoreUnavailable, match=r"too many models .*export its lines and import them into a new bank"
        ):
            store.put_vectors("alice", "one too many", {1: vector}, store.get("alice", [1]))
        assert memory.observe("Too hot.").seq == 2
        assert store.check("alice") == []


# -------------------------------------------------------- two stores on the same folder


def test_a_bank_recreated_by_another_store_has_none_of_the_old_vectors(tmp_path: Path) -> None:
    """Both stores cache an index of vectors; line 1 of the new bank must not get the vector of the old line 1."""
    embedder = HashEmbedder(512)
    with closing(SQLiteStore(tmp_path)) as one, closing(SQLiteStore(tmp_path)) as other:
        mine, theirs = (Memory.open("alice", store=store, embedder=embedder) for store in (one, other))
        mine.observe_many([NewLine("The giraffe ate acacia leaves."), NewLine("Owls hunt mice by moonlight.")])
        for _ in range(3):  # from the second query on whole vectors are cached
            assert theirs.recall("giraffe ate acacia leaves", 1)[0].signals["cosine"] > 0.7
        mine.forget(everything=True)
        mine.observe_many([NewLine("Penguins waddle."), NewLine("Crocodiles bask.")])
        for query, line in (("Penguins waddle", 1), ("Crocodiles bask", 2)):
            hits = {hit.line.seq: hit.signals["cosine"] for hit in theirs.recall(query)}
            assert hits[line] == pytest.approx(1.0, abs=0.01)
        assert all(hit.signals["cosine"] < 0.5 for hit in theirs.recall("giraffe ate acacia leaves"))


def test_vectors_written_by_another_store_are_visible(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as one, closing(SQLiteStore(tmp_path)) as other:
        mine, theirs = (Memory.open("alice", store=store, embedder=HashEmbedder(512)) for store in (one, other))
        for n in range(20):
            (mine, theirs)[n % 2].observe(f"Line about topic number{n}.")
            asked = (theirs, mine)[n % 2].recall(f"Line about topic number{n}.", 30)
            assert max(hit.signals["cosine"] for hit in asked) == pytest.approx(1.0, abs=0.01)
            assert len(asked) == n + 1


# ------------------------------------------------------------------ more banks than are kept open


@pytest.mark.slow
def test_threads_may_use_more_banks_than_can_be_open_at_a_time(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store, ThreadPoolExecutor(6) as pool:
        store.max_open_banks = 2
        asked = [f"bank {n * 7 % 5}" for n in range(300)]
        asking = [pool.submit(store.scoring_rows, bank, np.arange(3)) for bank in asked]
        assert all(len(each.result(PATIENCE).lines) == 0 for each in asking)


def test_a_store_closed_during_a_call_can_be_used_again(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    memory = Memory.open("alice", store=store, embedder=HashEmbedder())
    memory.observe("The porridge is hot.")
    opened = store._bank("alice")
    store.close()
    with opened.snapshot(BankCache.line_columns) as (_, columns):  # a thread that is about to read
        assert columns.seqs.tolist() == [1]
    assert memory.recall("porridge", 1)[0].line.seq == 1
    assert memory.observe("It was too hot.").seq == 2
    store.close()


# ------------------------------------------------------------------------ restored copies


def test_a_filter_reads_a_restored_copy_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "alice.bank"
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine("Hello.", "Ann"), NewLine("Hi.", "Bob")])
        with closing(sqlite3.connect(path)) as db:
            db.execute("VACUUM INTO ?", (str(tmp_path / "copy"),))
        memory.observe("I like tea.", speaker="Bob")
        memory.observe("Me too.", speaker="Bob")
        assert len(memory.recall("tea", where=Filter(speaker="Bob"))) == 3
        (tmp_path / "copy").replace(path)
        for beside in ("alice.bank-wal", "alice.bank-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
        memory.observe("Tea with Mallory is a secret.", speaker="Ann")
        memory.observe("Good night.", speaker="Ann")
        assert [hit.line.seq for hit in memory.recall("tea", where=Filter(speaker="Bob"))] == [2]
        assert memory.recall("Mallory", 1)[0].line.seq == 3
        assert memory.store.check("alice") == []


# -------------------------------------------------------------------- larger than memory


def test_exact_search_reads_vectors_from_the_file_when_they_are_not_in_memory(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as memory:
        memory.observe_many([NewLine(f"Line about topic number{n}.") for n in range(50)])
        store, asked = memory.store, memory.embedder.embed_query("topic number7")
        seqs = np.arange(1, 52)
        first, later = (store.cosines("alice", "hash-512", asked, seqs) for _ in range(2))  # from the file, from memory
        exact = memory.embedder.embed([line.text for line in memory.lines()]) @ asked
        np.testing.assert_allclose(first[:50], exact, atol=2e-3)
        np.testing.assert_allclose(later, first, atol=1e-6)
        assert np.isnan(first[50])


@pytest.mark.slow
def test_a_bank_of_thousands_finds_a_line_by_its_words_and_by_its_vector(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(256)) as memory:
        memory.observe_many(
            [NewLine(f"Entry {n}: weather report number {n % 97}.", session=str(n // 50)) for n in range(3000)]
        )
        memory.observe("The giraffe ate acacia leaves.", session="zoo")
        assert memory.recall("giraffe acacia", 1)[0].line.seq == 3001
        assert len(memory.recall("weather report", 25)) == 25
        assert memory.store.check("alice") == []


def test_no_statement_numbers_its_placeholders_as_python_3_12_deprecates_that_for_sequences() -> None:
    """Python 3.12.0 to 3.12.3 warn about ?1 with a sequence, and warnings may be errors."""
    package = Path(everthread.__file__).parent
    files = [*(package / "stores").rglob("*.py"), *(package / "server").rglob("*.py")]
    assert package / "stores" / "sqlite" / "rows.py" in files
    assert [file.name for file in files if re.search(r"\?\d", file.read_text(encoding="utf-8"))] == []
