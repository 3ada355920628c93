from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everthread import Memory
from everthread.bank.line_window import read_window
from everthread.errors import NotFound
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder


@pytest.fixture(params=["sqlite", "postgres"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Yield a bank with the lines 1 to 6 of one session and line 7 of another."""
    store = tmp_path if request.param == "sqlite" else PostgresStore(request.getfixturevalue("database"))
    with Memory.open("window", store=store, embedder=HashEmbedder(64)) as memory:
        for number in range(1, 7):
            memory.observe(f"line {number}", session="one")
        memory.observe("line 7", session="two")
        yield memory
        memory.forget(everything=True)  # the tests share a database
    if isinstance(store, PostgresStore):
        store.close()


def seqs(memory: Memory, seq: int, limit: int, *, include_retracted: bool = False) -> list[int]:
    lines = read_window(memory.store, memory.bank, seq, limit, include_retracted=include_retracted)
    return [line.seq for line in lines]


def test_a_line_is_in_the_middle_unless_its_session_ends_there(bank: Memory) -> None:
    assert seqs(bank, 3, 3) == [2, 3, 4]
    assert seqs(bank, 1, 3) == [1, 2, 3]
    assert seqs(bank, 6, 3) == [4, 5, 6]
    assert seqs(bank, 7, 3) == [7]
    assert seqs(bank, 4, 99) == [1, 2, 3, 4, 5, 6]


def test_a_retracted_line_is_shown_among_its_neighbours(bank: Memory) -> None:
    bank.retract(2)
    bank.retract(3)
    assert seqs(bank, 3, 3) == [1, 3, 4]
    assert seqs(bank, 3, 3, include_retracted=True) == [2, 3, 4]


def test_a_corrected_line_takes_the_place_of_the_original(bank: Memory) -> None:
    bank.correct(2, "line two")
    assert seqs(bank, 3, 3) == [8, 3, 4]
    assert seqs(bank, 8, 4) == [1, 8, 3, 4]


def test_a_missing_line_is_refused(bank: Memory) -> None:
    with pytest.raises(NotFound, match="there is no line 99 in bank 'window'"):
        seqs(bank, 99, 3)
