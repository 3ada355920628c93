"""Forgetting and changing lines when the process is killed before any step, or the machine loses power."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hardship import forked, steps
from hardship.places import write_places

from everthread import Memory, factory
from everthread.chat import pins
from everthread.cli import doctor
from everthread.errors import StoreUnavailable
from everthread.stores.placed.store import PlacedStore
from everthread.stores.sqlite import receipts
from everthread.stores.sqlite.moved_file import write_note
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.moving import move_bank
from everthread.types import NewLine, NewUnit, Receipt

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="files are identified by their descriptors in /proc"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

TEXTS = [f"The zqxcanary sings {n}." for n in range(3)]


def open_memory(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder())


def write_to_log(folder: Path) -> None:
    """Create a bank whose lines are only in its log, because its writer was killed."""

    def write() -> None:
        memory = open_memory(folder)
        for text in TEXTS:
            memory.observe(text)
        os.kill(os.getpid(), signal.SIGKILL)

    folder.mkdir(parents=True)
    assert not forked.exits_cleanly(forked.fork_child(write))
    assert b"zqxcanary" in (folder / "alice.bank-wal").read_bytes()


def forget_in_steps(folder: Path, last: int | None = None) -> list[str]:
    """Return the steps of a process that forgets the bank and is killed before step `last`."""

    def work() -> None:
        with open_memory(folder) as memory:
            memory.forget(everything=True)

    return steps.record_steps(work, folder.with_suffix(".steps"), last)


def files_with_text(folder: Path) -> list[str]:
    """Return the names of the files that still contain a word of the lines."""
    return [path.name for path in folder.iterdir() if b"zqxcanary" in path.read_bytes().lower()]


def test_a_process_killed_at_any_step_leaves_the_whole_bank_or_no_byte_of_it_and_a_receipt(tmp_path: Path) -> None:
    write_to_log(tmp_path / "complete" / "banks")
    found = forget_in_steps(tmp_path / "complete" / "banks")
    assert files_with_text(tmp_path / "complete" / "banks") == []
    begin = next(place for place, step in enumerate(found) if "wal_checkpoint" in step)
    gone = 0
    for last in range(begin, len(found)):
        folder = tmp_path / str(last) / "banks"
        write_to_log(folder)
        assert forget_in_steps(folder, last) == found[:last]
        if (folder / "alice.bank").exists():
            with open_memory(folder) as memory:
                assert [line.text for line in memory.lines()] == TEXTS
                assert memory.store.check("alice") == []
                assert memory.store.receipts("alice") == []
        else:
            gone += 1
            assert files_with_text(folder) == []
            assert [(each.scope, each.lines) for each in SQLiteStore(folder).receipts("alice")] == [("bank", 3)]
        assert not (folder / "alice.bank-receipt").exists()
    assert 0 < gone < len(found) - begin


def summarize_and_pin(folder: Path) -> None:
    """Create a bank of three lines with a summary, of which the second is pinned."""
    folder.mkdir()
    with open_memory(folder) as memory:
        for text in TEXTS:
            memory.observe(text, session="s")
        at = datetime(2026, 11, 21, tzinfo=UTC)
        memory.add_unit(NewUnit("summary", "It sings.", 1, 3, at, metadata={"session": "s"}))
        pins.add(memory, 2)


def state(folder: Path) -> tuple[list[str], list[int], int, int]:
    """Return the lines, the pins, and the numbers of summaries and of queued summaries."""
    with open_memory(folder) as memory:
        summaries = memory.units("summary", only_current=True)
        pinned = [line.seq for line in pins.list_pins(memory)]
        return [line.text for line in memory.lines()], pinned, len(summaries), len(memory.jobs())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "pinned"),
    [
        (lambda memory: memory.forget(seq=2), []),
        (lambda memory: memory.retract(2), []),
        (lambda memory: memory.correct(2, "It croaks."), [4]),
    ],
    ids=["forget", "retract", "correct"],
)
def test_a_process_killed_at_any_step_changes_a_line_with_its_summary_and_pin_or_not_at_all(
    tmp_path: Path, change: Callable[[Memory], object], pinned: list[int]
) -> None:
    def change_in_steps(name: str, last: int | None = None) -> tuple[Path, list[str]]:
        folder = tmp_path / name / "banks"
        shutil.copytree(tmp_path / "before", folder)

        def work() -> None:
            with open_memory(folder) as memory:
                change(memory)

        return folder, steps.record_steps(work, folder.with_suffix(".steps"), last)

    summarize_and_pin(tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "first")
    with open_memory(tmp_path / "first") as memory:
        change(memory)  # once here, or each process would load what it needs
    folder, found = change_in_steps("complete")
    after = state(folder)
    assert after[1:] == (pinned, 0, 1)
    begin = next(place for place, step in enumerate(found) if "BEGIN IMMEDIATE" in step)
    for last in range(begin, len(found)):
        folder, _ = change_in_steps(str(last), last)
        assert state(folder) in ((TEXTS, [2], 1, 0), after)


def be_killed_at_the_receipt(monkeypatch: pytest.MonkeyPatch, is_written: bool = False) -> None:
    """Have each process that forgets killed before or after it has written the receipt."""
    append = receipts.append

    def be_killed(folder: Path, receipt: Receipt) -> None:
        if is_written:
            append(folder, receipt)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(receipts, "append", be_killed)


def forget_in_child(store: Path, **scope: Any) -> None:
    """Forget lines or all of the bank in a process that is killed."""

    def forget() -> None:
        with open_memory(store) as memory:
            memory.forget(**scope)

    assert not forked.exits_cleanly(forked.fork_child(forget))


@pytest.mark.parametrize("is_written", [False, True])
def test_a_line_whose_process_is_killed_while_it_writes_the_receipt_has_one_when_the_bank_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    with open_memory(tmp_path) as memory:
        memory.observe_many([NewLine(text) for text in TEXTS])
    be_killed_at_the_receipt(monkeypatch, is_written)
    forget_in_child(tmp_path, seq=2)
    for _ in range(2):
        with open_memory(tmp_path) as memory:
            assert [line.text for line in memory.lines()] == [TEXTS[0], TEXTS[2]]
            assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((2, 2),)]
    assert (tmp_path / receipts.FILE_NAME).read_text().count("\n") == 1 + is_written


@pytest.mark.parametrize("place", ["north", "south"])
def test_a_bank_of_a_place_whose_process_is_killed_before_it_writes_the_receipt_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    places = write_places(tmp_path, north="north", south="south")
    with closing(factory.open_store(str(places))) as store:
        assert isinstance(store, PlacedStore)
        Memory.open("alice", store=store, embedder=HashEmbedder()).observe_many([NewLine(text) for text in TEXTS])
        move_bank(store, "alice", place)
    be_killed_at_the_receipt(monkeypatch)
    forget_in_child(places, everything=True)
    with closing(factory.open_store(str(places))) as store:
        assert not store.exists("alice")
        assert [receipt.seqs for receipt in store.receipts("alice")] == [((1, 3),)]
    assert (tmp_path / place / receipts.FILE_NAME).read_text().count("\n") == 1


@pytest.mark.parametrize("is_writable", [False, True])
def test_another_process_that_creates_a_bank_again_stores_the_receipt_that_a_killed_one_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_writable: bool
) -> None:
    be_killed_at_the_receipt(monkeypatch)
    path = tmp_path / receipts.FILE_NAME
    with open_memory(tmp_path) as memory:
        memory.observe_many([NewLine(text) for text in TEXTS])
        forget_in_child(tmp_path, everything=True)
        if not is_writable:
            path.mkdir()
        assert memory.observe("A new beginning.").seq == 1
        if not is_writable:
            path.rmdir()
    with open_memory(tmp_path) as memory:
        assert [line.text for line in memory.lines()] == ["A new beginning."]
        assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((1, 3),)]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["alice.bank", "receipts.jsonl"]


def test_another_process_that_has_the_folder_open_knows_the_receipt_that_a_killed_one_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_killed_at_the_receipt(monkeypatch)
    with open_memory(tmp_path) as memory:
        memory.observe("Alice sees a gull.")
        forget_in_child(tmp_path, everything=True)
        assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((1, 1),)]


def test_a_receipt_that_cannot_be_written_is_written_when_the_folder_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / receipts.FILE_NAME
    with open_memory(tmp_path) as memory:
        memory.observe("Alice sees a gull.")
        path.mkdir()
        with pytest.raises(StoreUnavailable, match="receipt could not be written"):
            memory.forget(everything=True)
    SQLiteStore(tmp_path)  # can be opened all the same
    path.rmdir()
    assert [receipt.seqs for receipt in SQLiteStore(tmp_path).receipts("alice")] == [((1, 1),)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_bank_is_forgotten_although_its_receipt_cannot_be_stored_beside_it(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        memory.observe("Alice sees a gull.")
        (tmp_path / "alice.bank-receipt").mkdir()  # as on a full disk
        assert memory.forget(everything=True).lines == 1
        assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((1, 1),)]


def test_unlinked_files_and_the_receipt_are_synced_before_the_call_returns(tmp_path: Path) -> None:
    folder = tmp_path / "banks"
    write_to_log(folder)
    found = [step for step in forget_in_steps(folder) if step.startswith(("unlink", "fsync"))]
    assert found == [
        *("fsync alice.bank-receipt", "fsync banks"),
        *("unlink alice.bank", "unlink alice.bank-wal", "unlink alice.bank-shm", "fsync banks"),
        *("fsync receipts.jsonl", "fsync banks", "unlink alice.bank-receipt"),
    ]


def test_opening_a_folder_removes_the_log_of_a_missing_bank(tmp_path: Path) -> None:
    write_to_log(tmp_path / "banks")
    (tmp_path / "banks" / "alice.bank").unlink()
    (tmp_path / "banks" / "notes.txt-wal").write_text("not a log of a bank")
    SQLiteStore(tmp_path / "banks")
    assert [path.name for path in (tmp_path / "banks").iterdir()] == ["notes.txt-wal"]


def test_opening_a_folder_removes_the_log_of_a_bank_that_was_moved(tmp_path: Path) -> None:
    write_to_log(tmp_path / "banks")
    (tmp_path / "banks" / "alice.bank").unlink()
    write_note(tmp_path / "banks" / "alice.bank", "south", "1")
    SQLiteStore(tmp_path / "banks")
    assert [path.name for path in (tmp_path / "banks").iterdir()] == ["alice.bank"]


def test_opening_a_folder_keeps_the_log_of_a_bank(tmp_path: Path) -> None:
    write_to_log(tmp_path / "banks")
    SQLiteStore(tmp_path / "banks")
    assert (tmp_path / "banks" / "alice.bank-wal").stat().st_size > 0


def test_forgetting_a_bank_removes_the_log_of_another_missing_bank(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        (tmp_path / "bob.bank-wal").write_text("Bob met the zqxcanary.")
        memory.forget(everything=True)
    assert [path.name for path in tmp_path.iterdir()] == ["receipts.jsonl"]


def test_a_bank_is_forgotten_although_the_log_of_another_cannot_be_removed(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        (tmp_path / "bob.bank-wal").mkdir()
        receipt = memory.forget(everything=True)
    assert receipt.scope == "bank"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bob.bank-wal", "receipts.jsonl"]


def test_the_doctor_names_a_log_that_cannot_be_removed(tmp_path: Path) -> None:
    (tmp_path / "bob.bank-wal").mkdir()  # as root may remove any file, and tests may be run by root
    found = [finding for finding in doctor.examine(str(tmp_path), "hash") if not finding.ok]
    assert [finding.what for finding in found] == ["log"]
    assert str(tmp_path / "bob.bank-wal") in found[0].detail
