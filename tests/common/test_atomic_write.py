import os
from pathlib import Path

import pytest

from everthread.common.atomic_write import open_atomically, write_atomically
from everthread.errors import StoreUnavailable


def test_a_file_is_replaced_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content in (b"one", b"two"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(StoreUnavailable, match=r"folder can't be written .*check its folder, or name another"):
        write_atomically(path, b"x")
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file_and_one_that_ends_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with pytest.raises(ZeroDivisionError), open_atomically(path) as file:
        file.writelines(b"%d" % (1 // number) for number in (1, 0))
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_new_content_is_on_disk_before_it_replaces_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    synced: list[tuple[bytes, int]] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((path.read_bytes(), os.fstat(file).st_size)))
    write_atomically(path, b"new!")
    assert synced == [(b"old", 4)]
    assert path.read_bytes() == b"new!"
