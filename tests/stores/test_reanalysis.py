"""Banks of an earlier analyser, in both stores, are used while the words of their lines are analysed again."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hardship import forked

from everthread import Memory, NewLine
from everthread.bank import embedding_backlog
from everthread.errors import NotFound
from everthread.factory import open_embedder
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.shared_rows import GLOSSED_SINCE
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION, count_terms
from everthread.types import NewUnit
from stores.aging import age_bank, set_columns
from stores.sqlite.banks import drop_later_tables

NAMES = count()
WORDS = "kettles singing ferries lighthouse the and gardens running with bread quickly sisters".split()
EARLIER = ANALYZER_VERSION - 1
OpenStore = Callable[[], Store]


@pytest.fixture
def bank() -> str:
    return f"aged-{next(NAMES)}"


def make_lines(number: int, seed: int = 0) -> list[NewLine]:
    """Return lines of one to forty words, in three sessions."""
    chance = random.Random(seed)
    texts = (" ".join(chance.choices(WORDS, k=chance.randrange(1, 40))) for _ in range(number))
    return [NewLine(f"Line {n} of {seed}: {text}", session=str(n % 3)) for n, text in enumerate(texts)]


def write(store: Store, bank: str, lines: Sequence[NewLine]) -> Memory:
    memory = Memory(bank, store, HashEmbedder(), Default())
    memory.observe_many(lines)
    return memory


def finish(store: Store, bank: str, limit: int = 512) -> None:
    while store.reanalyze(bank, limit):
        assert store.check(bank) == []


def read_words(store: Store, bank: str) -> dict[str, object]:
    """Return all that is stored of the words of a bank, and what depends on it."""
    terms = sorted({term for line in store.lines(bank) for term in count_terms(line.text).terms} | set(WORDS))
    records = store.postings(bank, terms, len(terms), 10**9)
    corpus = store.corpus_stats(bank)
    rows = store.scoring_rows(bank, np.arange(1, corpus.last_seq + 1))
    return {
        "records": {term: (found.df, found.records.tolist()) for term, found in sorted(records.items())},
        "totals": (corpus.lines, corpus.terms, corpus.head_terms),
        "lengths": rows.lines[["seq", "length", "head_length"]].tolist(),
        "sessions": rows.sessions.tolist(),
    }


def test_lines_are_analysed_again_in_batches_the_newest_first(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, make_lines(100))
    memory.retract(7)
    words = read_words(memory.store, bank)
    age_bank(memory, EARLIER)
    store = open_store()
    assert store.check(bank) == []
    assert store.stats(bank, "").outdated == 99
    assert read_words(store, bank) != words
    assert store.reanalyze(bank, 40)
    assert store.stats(bank, "").outdated == 59
    assert store.check(bank) == []
    assert [seq for seq, _, _ in store.postings(bank, ["kettl"], 1, 10**9)["kettl"].records.tolist()] == [
        line.seq for line in store.lines(bank, after=60) if "kettles" in line.text
    ]
    assert store.reanalyze(bank, 40)
    assert not store.reanalyze(bank, 40)
    assert not store.reanalyze(bank, 40)
    assert store.stats(bank, "").outdated == 0
    assert store.check(bank) == []
    assert read_words(store, bank) == words


def test_many_records_of_a_word_are_split_into_blocks(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, [NewLine(f"Kettles {n}.") for n in range(1000)])
    words = read_words(memory.store, bank)
    age_bank(memory, EARLIER)
    store = open_store()
    finish(store, bank, 70)
    assert read_words(store, bank) == words


def test_a_bank_without_lines_needs_no_analysis(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, make_lines(1))
    memory.retract(1)
    age_bank(memory, EARLIER)
    store = open_store()
    assert store.stats(bank, "").outdated == 0
    assert not store.reanalyze(bank, 10)
    assert not store.reanalyze("missing", 10)
    assert "missing" not in store.banks()
    assert store.check(bank) == []


def test_an_old_line_is_found_by_words_that_both_analysers_know_and_a_new_line_by_all(
    open_store: OpenStore, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 1)
    lines = [NewLine("A ferry and two kettles."), NewLine("Hello."), NewLine("Hm.")]
    age_bank(write(open_store(), bank, lines), EARLIER)
    memory = Memory(bank, open_store(), HashEmbedder(), Default())
    assert memory.stats().outdated == 2
    assert memory.store.postings(bank, ["ferri", "kettl", "kettles."], 3, 99)["kettl"].df == 0
    assert [hit.line.seq for hit in memory.recall("What about a ferry and two kettles?", 1)] == [1]
    line = memory.observe("My kettles sing.")
    assert memory.store.postings(bank, ["kettl"], 1, 99)["kettl"].records["seq"].tolist() == [line.seq]
    assert memory.store.check(bank) == []


def test_openings_and_writes_analyse_a_batch_each(
    open_store: OpenStore, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 10)
    age_bank(write(open_store(), bank, make_lines(45)), EARLIER)
    memory = Memory(bank, open_store(), HashEmbedder(), Default())
    assert memory.stats().outdated == 35
    memory.observe("Something new.")
    assert memory.stats().outdated == 25
    memory.replace_lines([], [NewLine("Embedded later.")], defer_embedding=True)
    assert memory.stats().outdated == 25
    assert memory.backlog.embed_earlier()
    assert memory.stats().outdated == 15
    assert Memory(bank, open_store(), HashEmbedder(), Default()).stats().outdated == 5
    memory.reindex()
    assert memory.stats().outdated == 0
    assert memory.store.check(bank) == []


def test_embedding_what_is_missing_analyses_all_words_before(
    open_store: OpenStore, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 10)
    age_bank(write(open_store(), bank, make_lines(45)), EARLIER)
    memory = Memory(bank, open_store(), HashEmbedder(), Default())
    reported: list[int] = []
    memory.backlog.embed_missing(reported.append)
    assert reported == [0, 0, 0]
    assert memory.stats().outdated == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_bank_in_use_ends_as_if_it_had_been_written_by_this_version(
    open_store: OpenStore, bank: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Observe, correct, retract and forget lines while the words are analysed, on an old and on a new bank."""
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 4)
    lines = make_lines(60, seed)
    age_bank(write(open_store(), bank, lines), EARLIER)
    old = Memory(bank, open_store(), HashEmbedder(), Default())
    new = write(open_store(), f"new-{bank}", lines)
    chance = random.Random(seed)
    for number in range(25):
        seq, what = chance.randrange(1, 60), chance.choice(["observe", "correct", "retract", "forget", "session", "go"])
        for memory in (old, new):
            with suppress(NotFound):
                if what == "observe":
                    memory.observe(f"Kettles of step {number} are running.", session="new")
                elif what == "correct":
                    memory.correct(seq, f"Gardens of step {number}.")
                elif what == "retract":
                    memory.retract(seq)
                elif what == "forget":
                    memory.forget(seq=[seq, seq + 1])
                elif what == "session" and number == 20:
                    memory.forget(session="2")
                elif what == "go":
                    memory.store.reanalyze(memory.bank, 3)
        assert old.store.check(bank) == []
    assert old.stats().outdated > 0
    finish(old.store, bank)
    assert read_words(old.store, bank) == read_words(new.store, new.bank)
    hits, expected = (memory.recall("Who is running with the kettles?") for memory in (old, new))
    assert [hit.line.seq for hit in hits] == [hit.line.seq for hit in expected]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])


def test_no_word_of_a_forgotten_line_stays_in_the_index(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, [NewLine("Secrets: zqxcanaries."), *make_lines(9)])
    age_bank(memory, EARLIER)
    store = open_store()
    store.forget(bank, "line", [1], store.sessions(bank)[0].started_at)
    found = store.postings(bank, ["zqxcanaries.", "zqxcanari"], 2, 99)
    assert [each.df for each in found.values()] == [0, 0]
    assert store.check(bank) == []
    finish(store, bank)
    assert store.check(bank) == []


def test_a_further_change_of_the_analyser_begins_again(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, make_lines(50))
    words = read_words(memory.store, bank)
    age_bank(memory, EARLIER - 1)
    store = open_store()
    assert store.reanalyze(bank, 20)
    set_columns(store, bank, {"analyser": EARLIER})  # as if a version between the two had begun
    store.close()
    store = open_store()
    assert store.stats(bank, "").outdated == 50
    finish(store, bank, 20)
    assert store.check(bank) == []
    assert read_words(store, bank) == words


def test_a_file_of_version_0_1_0_opens_and_its_words_are_analysed_again(tmp_path: Path) -> None:
    memory = write(SQLiteStore(tmp_path), "alice", make_lines(50))
    words = read_words(memory.store, "alice")
    age_bank(memory, 3)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:  # its schema was the third
        drop_later_tables(db)
        db.execute("DELETE FROM migration WHERE number >= 4")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.recall("kettles")
        finish(memory.store, "alice")
        assert memory.store.check("alice") == []
        assert read_words(memory.store, "alice") == words


def test_several_processes_analyse_and_write_together(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, make_lines(200))
    words = read_words(memory.store, bank)
    age_bank(memory, EARLIER)
    stores = [open_store() for _ in range(3)]

    def observe() -> None:
        writer = Memory(bank, stores[2], HashEmbedder(), Default())
        for n in range(10):
            seq = writer.observe(f"Kettles {n}.").seq
            assert seq in [hit.line.seq for hit in writer.recall(f"Kettles {n}?", 50)]
            writer.forget(seq=seq)

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(observe), *(pool.submit(finish, store, bank, 9) for store in stores[:2])]
    assert [each.result() for each in done] == [None] * 3
    assert stores[0].check(bank) == []
    assert read_words(stores[0], bank) == words


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_killed_leaves_whole_batches(open_store: OpenStore, bank: str) -> None:
    memory = write(open_store(), bank, make_lines(120))
    words = read_words(memory.store, bank)
    age_bank(memory, EARLIER)
    chance, outdated = random.Random(0), 120
    while outdated:
        ready, told = os.pipe()

        def work(told: int = told) -> None:
            store = open_store()
            while store.reanalyze(bank, 4):
                os.write(told, b".")

        child = forked.fork_child(work)
        os.close(told)
        for _ in range(chance.randrange(1, 8)):
            os.read(ready, 1)  # returns at once when the child has ended
        time.sleep(chance.random() / 100)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        forked.exits_cleanly(child)
        os.close(ready)
        store = open_store()
        assert store.check(bank) == []
        left = store.stats(bank, "").outdated
        assert left % 4 == 0
        assert left < outdated
        outdated = left
        store.close()
    assert read_words(open_store(), bank) == words


@pytest.mark.parametrize(("analyser", "pending"), [(GLOSSED_SINCE - 1, 2), (GLOSSED_SINCE, 0)])
def test_vectors_of_chinese_lines_without_a_gloss_are_made_again(
    open_store: OpenStore, bank: str, analyser: int, pending: int
) -> None:
    memory = Memory(bank, open_store(), open_embedder(None), Default())
    first = memory.observe_many(map(NewLine, ("我喜欢猫。", "I like cats.", "我也喜欢狗。")))[0]
    memory.add_unit(NewUnit("note", "她喜欢猫。", 1, 1, first.said_at))
    age_bank(memory, analyser)
    if analyser == ANALYZER_VERSION:
        set_columns(memory.store, bank, {"earlier_last": 3, "earlier_analyser": analyser})
    memory = Memory(bank, open_store(), memory.embedder, Default())
    assert memory.store.check(bank) == []
    assert memory.stats().pending == pending
    assert len(memory.store.units_without_vectors(bank, memory.embedder.name, 384)) == pending / 2
    assert memory.backlog.embed_earlier(1) is (pending > 0)
    while memory.backlog.embed_earlier(1):
        pass
    assert memory.stats().pending == 0
    assert memory.store.check(bank) == []
