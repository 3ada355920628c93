from __future__ import annotations

import os
from pathlib import Path

import pytest

from everthread.hooks.stored_messages import MAX_AGE_S, StoredMessages
from everthread.types import NewLine


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # Linux
    monkeypatch.setenv("HOME", str(tmp_path))  # macOS
    return tmp_path


def lines(*keys: str) -> list[NewLine]:
    return [NewLine("Hello.", key=key) for key in keys]


def keys_of(new: object) -> list[str | None]:
    return [line.key for line in new]  # type: ignore[attr-defined]


def test_lines_after_the_recorded_one_are_new_and_all_if_it_is_not_among_them() -> None:
    stored = StoredMessages("nora", "one")
    assert keys_of(stored.select_new(lines("a", "b"))) == ["a", "b"]
    stored.record(lines("a", "b"))
    assert keys_of(stored.select_new(lines("a", "b"))) == []
    assert keys_of(stored.select_new(lines("b", "c"))) == ["c"]
    assert keys_of(stored.select_new(lines("c", "d"))) == ["c", "d"]
    for other in (StoredMessages("nora", "two"), StoredMessages("mia", "one")):
        assert keys_of(other.select_new(lines("a", "b"))) == ["a", "b"]


def test_old_records_are_removed_and_a_folder_that_can_not_be_used_is_ignored(state: Path) -> None:
    StoredMessages("nora", "old").record(lines("a"))
    (old,) = (path for path in state.rglob("*") if path.is_file())
    os.utime(old, (old.stat().st_mtime - MAX_AGE_S - 1,) * 2)
    StoredMessages("nora", "new").record(lines("a"))
    assert not old.exists()
    new = StoredMessages("nora", "new")
    (file,) = (path for path in state.rglob("*") if path.is_file())
    file.unlink()
    file.mkdir()
    new.record(lines("b"))
    assert keys_of(new.select_new(lines("a", "b"))) == ["a", "b"]
