"""Forgetting and changing lines when the process is killed before any step, or the machine loses power."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hardship import forked, steps

from everthread import Memory
from everthread.chat import pins
from everthread.cli import doctor
from everthread.stores.sqlite import receipts
from everthread.stores.sqlite.moved_file import write_note
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
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


def test_a_process_killed_at_any_step_leaves_the_whole_bank_or_no_byte_of_it(tmp_path: Path) -> None:
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
        else:
            gone += 1
            assert files_with_text(folder) == []
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


@pytest.mark.parametrize("is_written", [False, True])
def test_a_line_whose_process_is_killed_while_it_writes_the_receipt_has_one_when_the_bank_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    append = receipts.append

    def be_killed(folder: Path, receipt: Receipt) -> None:
        if is_written:
            append(folder, receipt)
        os.kill(os.getpid(), signal.SIGKILL)

    def forget() -> None:
        with open_memory(tmp_path) as memory:
            memory.forget(seq=2)

    with open_memory(tmp_path) as memory:
        memory.observe_many([NewLine(text) for text in TEXTS])
    monkeypatch.setattr(receipts, "append", be_killed)
    assert not forked.exits_cleanly(forked.fork_child(forget))
    for _ in range(2):
        with open_memory(tmp_path) as memory:
            assert [line.text for line in memory.lines()] == [TEXTS[0], TEXTS[2]]
            assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((2, 2),)]
    assert (tmp_path / receipts.FILE_NAME).read_text().count("\n") == 1 + is_written


def test_unlinked_files_and_the_receipt_are_synced_before_the_call_returns(tmp_path: Path) -> None:
    folder = tmp_path / "banks"
    write_to_log(folder)
    found = [step for step in forget_in_steps(folder) if step.startswith(("unlink", "fsync"))]
    assert found == [
        *("unlink alice.bank", "unlink alice.bank-wal", "unlink alice.bank-shm", "fsync banks"),
        *("fsync receipts.jsonl", "fsync banks"),
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
