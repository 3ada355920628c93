"""A snapshot is a bank as it is at one moment, in every store, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everthread import Filter, Line, Memory
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.errors import StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Seqs, Vector

NAMES = count()
NOTHING = ExpectedReads("hash", None)
TEXTS = ["The ferry leaves at noon.", "A heron sat on the pier.", "The lighthouse is white.", "Where is the ferry?"]


@pytest.fixture
def memory(any_store: Store) -> Memory:
    made = Memory(f"snapshot {next(NAMES)}", any_store, HashEmbedder(), Memory.open("x", store=any_store).recipe)
    for text in TEXTS:
        made.observe(text, speaker="Ann")
    return made


def read_snapshot(
    memory: Memory, read: Callable[[Store], Any], expected: ExpectedReads = NOTHING, seqs: Sequence[int] = ()
) -> tuple[Any, list[Line]]:
    return memory.store.read_snapshot(memory.bank, lambda store: (read(store), seqs), expected)


def expect(memory: Memory, small: int) -> ExpectedReads:
    vector = memory.embedder.embed_query("the ferry")
    return ExpectedReads(memory.embedder.name, vector, ["ferri", "heron", "nowher"], 24, 1000, small)


def read_all(memory: Memory, store: Store, expected: ExpectedReads) -> list[Any]:
    bank, model, vector, seqs = memory.bank, expected.model, expected.vector, np.array([1, 2, 4])
    assert vector is not None
    corpus = store.corpus_stats(bank)
    postings = store.postings(bank, expected.terms, expected.max_terms, expected.max_records)
    rows = store.scoring_rows(bank, seqs)
    return [
        corpus,
        {term: (posting.df, posting.records.tolist()) for term, posting in postings.items()},
        store.nearest_seqs(bank, model, vector, 2, None).tolist(),
        store.nearest_seqs(bank, model, vector, 2, np.array([2, 3])).tolist(),
        np.nan_to_num(store.cosines(bank, model, vector, seqs)).round(5).tolist(),
        rows.lines.tolist(),
        rows.sessions.tolist(),
        store.get(bank, [2, 3]),
    ]


@pytest.mark.parametrize("small", [0, 1000])
def test_a_snapshot_has_what_the_store_reads(memory: Memory, small: int) -> None:
    expected = expect(memory, small)
    found, lines = read_snapshot(memory, lambda store: read_all(memory, store, expected), expected, [3, 1])
    assert found == read_all(memory, memory.store, expected)
    assert [line.seq for line in lines] == [1, 3]


@pytest.mark.parametrize("small", [0, 1000])
def test_a_snapshot_does_not_have_what_is_written_meanwhile(memory: Memory, small: int) -> None:
    expected = expect(memory, small)
    before = read_all(memory, memory.store, expected)

    def read(store: Store) -> tuple[list[Any], list[Any]]:
        store.corpus_stats(memory.bank)
        memory.observe("The ferry and the heron.", speaker="Bob", session="another")
        memory.store.retract(memory.bank, 2, memory.get(1).said_at)  # type: ignore[union-attr]
        after = read_all(memory, memory.store, expected)  # which brings the caches up to date
        return read_all(memory, store, expected), after

    (seen, after), lines = read_snapshot(memory, read, expected, [2, 5])
    assert seen == before != after
    assert [line.seq for line in lines] == [2]
    assert read_snapshot(memory, lambda store: read_all(memory, store, expected), expected)[0] == after


def test_a_snapshot_answers_other_questions_than_expected(memory: Memory) -> None:
    expected, other = expect(memory, 1000), memory.embedder.embed_query("a heron")

    def read(store: Store) -> list[Any]:
        within = store.filter_seqs(memory.bank, Filter(speaker="Ann"), None)
        postings = store.postings(memory.bank, ["lighthous"], 24, 1000)
        return [
            postings["lighthous"].records.tolist(),
            store.cosines(memory.bank, memory.embedder.name, other, np.array([1, 2])).round(5).tolist(),
            store.cosines(memory.bank, "another model", other, np.array([1, 2])).tolist(),
            store.corpus_stats(memory.bank, np.array([1, 2])),
            store.scoring_rows(memory.bank, np.array([1, 2]), within).sessions.tolist(),
        ]

    assert str(read_snapshot(memory, read, expected)[0]) == str(read(memory.store))


def test_a_snapshot_of_a_missing_bank_finds_nothing(any_store: Store) -> None:
    (corpus, cosines), lines = any_store.read_snapshot(
        "nobody",
        lambda store: (
            (store.corpus_stats("nobody"), store.cosines("nobody", "hash", np.ones(3, np.float32), np.array([1]))),
            [1],
        ),
        ExpectedReads("hash", np.ones(3, np.float32), ["ferri"], 24, 1000, 1000),
    )
    assert (corpus.last_seq, str(cosines), lines) == (0, "[nan]", [])


@pytest.mark.parametrize("kind", [ValueError, OSError, OverflowError, KeyError, StoreUnavailable])
def test_an_error_of_the_reader_is_not_taken_for_one_of_the_store(memory: Memory, kind: type[Exception]) -> None:
    def fail(store: Store) -> None:
        store.corpus_stats(memory.bank)
        raise kind("ours")

    with pytest.raises(kind, match="ours"):
        read_snapshot(memory, fail)
    assert memory.recall("ferry")


def test_a_snapshot_of_a_large_bank_is_read_by_its_index(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(
        f"snapshot {next(NAMES)}", any_store, BulkEmbedder(HashEmbedder()), Memory.open("x", store=any_store).recipe
    )
    memory.observe_many([])
    for number in range(30):
        memory.observe(f"Line {number} about the garden of word{number}.")
    if hasattr(any_store, "build_indexes"):
        monkeypatch.setattr("everthread.stores.postgres.vector_index.EXACT_SEARCH_LIMIT", 10)
        assert any_store.build_indexes(memory.bank) == 1
    vector = memory.embedder.embed_query("garden of word7")
    expected, seqs = ExpectedReads(memory.embedder.name, vector, ["garden"], 24, 1000, 10), np.arange(1, 31)

    def read(store: Store) -> list[Any]:
        return [
            store.nearest_seqs(memory.bank, expected.model, vector, 30, None).tolist(),
            store.cosines(memory.bank, expected.model, vector, seqs).round(5).tolist(),
            store.scoring_rows(memory.bank, seqs).lines.tolist(),
        ]

    assert read_snapshot(memory, read, expected)[0] == read(any_store)


class OwnIndex(SQLiteStore):
    """Finds the first line alone."""

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        return np.array([1])


def test_a_snapshot_uses_the_index_of_the_store(tmp_path: Path) -> None:
    with closing(OwnIndex(tmp_path)) as store:
        vector = np.ones(3, np.float32)
        found, _ = store.read_snapshot(
            "own", lambda snapshot: (snapshot.nearest_seqs("own", "hash", vector, 5, None), []), NOTHING
        )
        assert found.tolist() == [1]
