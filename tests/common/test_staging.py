"""Staging folders: unseen until renamed, and removed with their process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import pytest

from everthread.common.staging import PREFIX, remove_scratch, remove_unfinished, scratch_folder, staging_folder


def test_a_folder_is_removed_unless_it_was_renamed(tmp_path: Path) -> None:
    with staging_folder(tmp_path) as staging:
        (staging / "file").write_text("whole")
        staging.rename(tmp_path / "done")
    with staging_folder(tmp_path) as staging:
        (staging / "file").write_text("half")
    assert [path.name for path in tmp_path.iterdir()] == ["done"]
    assert (tmp_path / "done" / "file").read_text() == "whole"


def test_a_folder_in_use_is_not_removed_and_an_abandoned_one_is(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}left").mkdir()
    with staging_folder(tmp_path) as staging:
        remove_unfinished(tmp_path)
        assert staging.is_dir()
        assert [path.name for path in tmp_path.iterdir()] == [staging.parent.name]


def test_processes_that_begin_at_once_remove_none_of_each_others_folders(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        assert pool.map(use_folders, [tmp_path] * 8) == [300] * 8
    assert list(tmp_path.iterdir()) == []


def use_folders(parent: Path) -> int:
    """Use many folders one after the other; return in how many of them a file could be written."""
    for _ in range(300):
        with staging_folder(parent) as staging:
            (staging / "file").write_text("whole")
    return 300


def test_a_folder_that_is_missing_has_nothing_to_remove(tmp_path: Path) -> None:
    remove_unfinished(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


def test_a_scratch_folder_is_removed_at_its_end_and_one_of_a_killed_process_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for next_use in (remove_scratch, scratch_folder().__enter__):
        child = multiprocessing.get_context("spawn").Process(target=copy_and_die, args=(tmp_path,))
        child.start()
        child.join()
        assert [path.name for path in tmp_path.rglob("*.db")] == ["chat.db"]
        next_use()
        assert not list(tmp_path.rglob("*.db"))


def copy_and_die(folder: Path) -> None:
    tempfile.tempdir = str(folder)
    with scratch_folder() as scratch:
        (scratch / "chat.db").write_text("Hello!")
        os.kill(os.getpid(), signal.SIGKILL)
