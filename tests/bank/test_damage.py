"""Banks whose files were damaged: what fails says so, and nothing else is taken for damage."""

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


def opened(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder(64))


def filled(folder: Path) -> None:
    """A bank of 300 lines in 15 sessions, and ten facts."""
    chance = random.Random(1)
    with opened(folder) as memory:
        memory.observe_many(
            NewLine(" ".join(chance.choices(WORDS, k=8)), "Ann", said_at=MAY + timedelta(hours=n), session=f"{n // 20}")
            for n in range(300)
        )
        for n in range(10):
            memory.add_unit(NewUnit("fact", f"Mia likes {WORDS[n]}.", n + 1, n + 3, MAY))


def ask(memory: Memory) -> None:
    memory.recall("Where is the garden with the fern?", 5)


def ask_again_and_again(memory: Memory) -> None:
    """From the second question on, more of the bank is in memory."""
    for _ in range(3):
        ask(memory)
    assert list(memory.lines())


ALL: tuple[Callable[[Memory], object], ...] = (
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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are none
def test_wherever_bytes_were_overwritten_only_our_own_errors_come_of_it(tmp_path: Path) -> None:
    filled(tmp_path)
    path, chance = tmp_path / "alice.bank", random.Random(1)
    whole, failed = path.read_bytes(), 0
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 4, 16])):
            at, length = chance.randrange(100, len(data) - 300), chance.choice([1, 4, 30, 300])
            data[at : at + length] = chance.choice([bytes(length), chance.randbytes(length)])
        path.write_bytes(data)
        with suppress(EverthreadError), opened(tmp_path) as memory:
            for each in ALL:
                try:
                    each(memory)
                except EverthreadError:
                    failed += 1
        for log in tmp_path.glob("alice.bank-*"):
            log.unlink()
    assert failed > 30


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vector SET data = 5",
        "UPDATE line SET metadata = 7",
        "UPDATE line SET said_at = 'noon'",
    ],
)
def test_a_question_to_a_bank_of_which_a_table_makes_no_sense_says_that_it_is_damaged(
    tmp_path: Path, damage: str
) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute(damage)
    with opened(tmp_path) as memory:
        with pytest.raises(BankDamaged, match=r"bank .alice. .*is damaged: "):
            ask_again_and_again(memory)
        assert memory.store.check("alice") != []


def test_lines_that_can_not_be_read_are_damage_while_they_are_iterated(tmp_path: Path) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE line SET metadata = '{\"n\": ' WHERE seq = 7")
    with opened(tmp_path) as memory:
        lines = memory.lines()
        with pytest.raises(BankDamaged):
            list(lines)


def test_a_fault_of_the_caller_is_not_taken_for_damage(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, pytest.raises(TypeError, match="not iterable"):
        memory.observe_many(5)  # type: ignore[arg-type]


def test_a_fault_of_the_caller_is_not_taken_for_damage_while_an_erasing_waits_to_be_finished(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as db:
            db.execute(f"PRAGMA user_version = {ERASE_PENDING}")
        assert memory.store.check("alice") == [ERASURE_UNFINISHED]
        with pytest.raises(TypeError, match="not iterable"):
            memory.observe_many(5)  # type: ignore[arg-type]


def test_wrong_arguments_are_refused_without_a_look_at_the_bank(tmp_path: Path) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE line SET metadata = '[]' WHERE seq = 7")
    with opened(tmp_path) as memory:
        assert memory.store.check("alice") != []
        with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
            memory.recall("a fern", limit=3)  # type: ignore[call-arg]


def test_a_checked_method_has_the_name_and_docstring_of_the_original() -> None:
    original = inspect.unwrap(Memory.recall)
    assert original is not Memory.recall
    assert Memory.recall.__name__ == "recall"
    assert Memory.recall.__doc__ is not None
    assert Memory.recall.__doc__ == original.__doc__
