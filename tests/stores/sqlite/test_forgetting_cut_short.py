"""A bank that is forgotten as a whole by a process that is killed before any of its steps, or by a machine that loses
its power."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hardship import forked, steps

from everthread import Memory
from everthread.cli import doctor
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="files are told by their descriptors in /proc"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

SAID = [f"The zqxcanary sings {n}." for n in range(3)]


def opened(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder())


def kept(folder: Path) -> None:
    """A bank whose lines are in its log alone, as its writer was killed."""

    def write() -> None:
        memory = opened(folder)
        for text in SAID:
            memory.observe(text)
        os.kill(os.getpid(), signal.SIGKILL)

    folder.mkdir(parents=True)
    assert not forked.sound(forked.forked(write))
    assert b"zqxcanary" in (folder / "alice.bank-wal").read_bytes()


def forgetting(folder: Path, last: int | None = None) -> list[str]:
    """The steps of a process that forgets the bank."""

    def work() -> None:
        with opened(folder) as memory:
            memory.forget(everything=True)

    return steps.taken(work, folder.with_suffix(".steps"), last)


def holding_text(folder: Path) -> list[str]:
    """The names of the files in which a word of the lines is left."""
    return [path.name for path in folder.iterdir() if b"zqxcanary" in path.read_bytes().lower()]


def test_a_process_killed_at_any_step_leaves_the_whole_bank_or_no_byte_of_it(tmp_path: Path) -> None:
    kept(tmp_path / "whole" / "banks")
    found = forgetting(tmp_path / "whole" / "banks")
    assert holding_text(tmp_path / "whole" / "banks") == []
    begin = next(place for place, step in enumerate(found) if "wal_checkpoint" in step)
    gone = 0
    for last in range(begin, len(found)):
        folder = tmp_path / str(last) / "banks"
        kept(folder)
        assert forgetting(folder, last) == found[:last]
        if (folder / "alice.bank").exists():
            with opened(folder) as memory:
                assert [line.text for line in memory.lines()] == SAID
                assert memory.store.check("alice") == []
        else:
            gone += 1
            assert holding_text(folder) == []
    assert 0 < gone < len(found) - begin


def test_before_the_call_returns_the_disk_knows_that_the_files_are_gone_and_has_the_receipt(tmp_path: Path) -> None:
    folder = tmp_path / "banks"
    kept(folder)
    found = [step for step in forgetting(folder) if step.startswith(("unlink", "fsync"))]
    assert found == [
        *("unlink alice.bank", "unlink alice.bank-wal", "unlink alice.bank-shm", "fsync banks"),
        *("fsync receipts.jsonl", "fsync banks"),
    ]


def test_the_log_of_a_bank_that_is_not_there_is_removed_by_whoever_opens_the_folder_next(tmp_path: Path) -> None:
    kept(tmp_path / "banks")
    (tmp_path / "banks" / "alice.bank").unlink()
    (tmp_path / "banks" / "notes.txt-wal").write_text("no bank's")
    SQLiteStore(tmp_path / "banks")
    assert [path.name for path in (tmp_path / "banks").iterdir()] == ["notes.txt-wal"]


def test_whoever_forgets_a_bank_removes_the_log_of_another_that_is_not_there(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        (tmp_path / "bob.bank-wal").write_text("Bob met the zqxcanary.")
        memory.forget(everything=True)
    assert [path.name for path in tmp_path.iterdir()] == ["receipts.jsonl"]


def test_a_bank_is_forgotten_with_its_receipt_where_the_log_of_another_can_not_be_removed(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        (tmp_path / "bob.bank-wal").mkdir()
        receipt = memory.forget(everything=True)
    assert receipt.scope == "bank"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bob.bank-wal", "receipts.jsonl"]


def test_the_doctor_names_a_log_that_can_not_be_removed(tmp_path: Path) -> None:
    (tmp_path / "bob.bank-wal").mkdir()  # as root may remove any file, and tests may be run by root
    found = [finding for finding in doctor.examine(str(tmp_path), "hash") if not finding.ok]
    assert [finding.what for finding in found] == ["log"]
    assert str(tmp_path / "bob.bank-wal") in found[0].detail
