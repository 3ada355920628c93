"""Banks with damaged files: methods that fail report the damage, and other errors are not reported as damage."""

from __future__ import annotations

import inspect
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread import Filter, Memory, NewLine, NewUnit
from everthread.errors import BankDamaged, EverthreadError
from everthread.stores.base import ERASURE_UNFINISHED
from everthread.stores.sqlite.bank_file import ERASE_PENDING
from everthread.testing import HashEmbedder

MAY = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = "fern garden lighthouse ferry yesterday harbour Mia Lisbon knife bread running cat".split()


def open_bank(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder(64))


def fill(folder: Path) -> None:
    """Store 300 lines in 15 sessions, and ten facts."""
    rng = random.Random(1)
    with open_bank(folder) as memory:
        memory.observe_many(
            NewLine(" ".join(rng.choices(WORDS, k=8)), "Ann", said_at=MAY + timedelta(hours=n), session=f"{n // 20}")
            for n in range(300)
        )
        for n in range(10):
            memory.add_unit(NewUnit("fact", f"Mia likes {WORDS[n]}.", n + 1, n + 3, MAY))


def ask(memory: Memory) -> None:
    memory.recall("Where is the garden with the fern?", 5)


def ask_repeatedly(memory: Memory) -> None:
    """Ask several times, because caches are filled after the first query."""
    for _ in range(3):
        ask(memory)
    assert list(memory.lines())


CALLS: tuple[Callable[[Memory], object], ...] = (
    ask,
    lambda memory: memory.recall("What did we talk about last week?", as_of=MAY + timedelta(days=9)),
    lambda memory: memory.recall("a fern", where=Filter(speaker="Ann")),
    lambda memory: memory.recall("What does Mia like?", where=Filter(kind="fact")),
    lambda memory: memory.context("the ferry to the lighthouse", session="1"),
    lambda memory: list(memory.lines(include_retracted=True)),
    lambda memory: (memory.sessions(), memory.stats(), memory.units(), memory.settings(), memory.jobs()),
    lambda memory: memory.observe("There is a new fern."),
    lambda memory: memory.correct(11, "There is a fern."),
    lambda memory: memory.forget(seq=9),
    lambda memory: memory.reindex(),
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of invalid numbers
def test_overwritten_bytes_cause_only_everthread_errors(tmp_path: Path) -> None:
    fill(tmp_path)
    path, rng = tmp_path / "alice.bank", random.Random(1)
    intact, failed = path.read_bytes(), 0
    for _ in range(30):
        data = bytearray(intact)
        for _ in range(rng.choice([1, 4, 16])):
            at, length = rng.randrange(100, len(data) - 300), rng.choice([1, 4, 30, 300])
            data[at : at + length] = rng.choice([bytes(length), rng.randbytes(length)])
        path.write_bytes(data)
        with suppress(EverthreadError), open_bank(tmp_path) as memory:
            for call in CALLS:
                try:
                    call(memory)
                except EverthreadError:
                    failed += 1
        for log in tmp_path.glob("alice.bank-*"):
            log.unlink()
    assert failed > 5  # how many depends on the version of SQLite


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vector SET data = 5",
        "UPDATE line SET metadata = 7",
        "UPDATE line SET said_at = 'noon'",
    ],
)
def test_a_query_to_a_bank_with_invalid_column_values_raises_bank_damaged(tmp_path: Path, damage: str) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute(damage)
    with open_bank(tmp_path) as memory:
        with pytest.raises(BankDamaged, match=r"bank .alice. .*is damaged: "):
            ask_repeatedly(memory)
        assert memory.store.check("alice") != []


def test_an_unreadable_line_raises_bank_damaged_during_iteration(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE line SET metadata = '{\"n\": ' WHERE seq = 7")
    with open_bank(tmp_path) as memory:
        lines = memory.lines()
        with pytest.raises(BankDamaged):
            list(lines)


def test_lines_are_forgotten_at_once_after_an_unreadable_line(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE line SET metadata = '{\"n\": ' WHERE seq = 7")
    with open_bank(tmp_path) as memory:
        with pytest.raises(BankDamaged) as raised:
            list(memory.lines())
        memory.forget(seq=9)
        assert raised.tb is not None  # the error is still held, and with it all that reading the line left open


def test_an_error_of_the_caller_is_not_reported_as_damage(tmp_path: Path) -> None:
    with open_bank(tmp_path) as memory, pytest.raises(ZeroDivisionError):
        memory.observe_many(NewLine(f"{1 // n}.") for n in (1, 0))


def test_an_error_of_the_caller_is_not_reported_as_damage_while_an_erasure_is_unfinished(tmp_path: Path) -> None:
    with open_bank(tmp_path) as memory:
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as db:
            db.execute(f"PRAGMA user_version = {ERASE_PENDING}")
        assert memory.store.check("alice") == [ERASURE_UNFINISHED]
        with pytest.raises(ZeroDivisionError):
            memory.observe_many(NewLine(f"{1 // n}.") for n in (1, 0))


def test_wrong_arguments_are_rejected_without_checking_the_bank(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE line SET metadata = '[]' WHERE seq = 7")
    with open_bank(tmp_path) as memory:
        assert memory.store.check("alice") != []
        with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
            memory.recall("a fern", limit=3)  # type: ignore[call-arg]


def test_a_checked_method_has_the_name_and_docstring_of_the_original() -> None:
    original = inspect.unwrap(Memory.recall)
    assert original is not Memory.recall
    assert Memory.recall.__name__ == "recall"
    assert Memory.recall.__doc__ is not None
    assert Memory.recall.__doc__ == original.__doc__
