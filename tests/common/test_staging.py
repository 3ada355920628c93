"""Staging folders: unseen until renamed, and removed with their process."""

from __future__ import annotations

from pathlib import Path

from everthread.common.staging import PREFIX, remove_unfinished, staging_folder


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


def test_a_folder_that_is_missing_has_nothing_to_remove(tmp_path: Path) -> None:
    remove_unfinished(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
