from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.export import Export, ExportFile, open_export
from everthread.transfer.services.sqlite_file import is_database, open_database


@contextmanager
def unsaved_changes(path: Path) -> Iterator[sqlite3.Connection]:
    """Create a database of 1 whose last change, 2, is only in the file of changes beside it."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE number (value); INSERT INTO number VALUES (1);")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("INSERT INTO number VALUES (2)")
        db.commit()
        yield db


def read_numbers(*paths: Path) -> list[int]:
    with open_export(paths) as export:
        file = next(filter(is_database, export.files))
        with open_database(file, export) as db:
            return [value for (value,) in db.execute("SELECT value FROM number")]


def states(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_changes_beside_a_database_are_read_and_nothing_is_written_there(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a.db"):
        before = states(tmp_path)
        assert read_numbers(path) == [1, 2]
        assert read_numbers(tmp_path) == [1, 2]
        assert states(tmp_path) == before


def test_a_database_without_changes_beside_it_is_read_where_it_is(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a b#1?.db"):
        pass  # closing saves the changes
    before = states(tmp_path)
    assert list(before) == ["a b#1?.db"]
    assert read_numbers(path) == [1, 2]
    assert states(tmp_path) == before


def test_a_database_and_its_changes_are_read_from_an_archive(tmp_path: Path) -> None:
    with unsaved_changes(tmp_path / "a.db"), zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.db", "copy/a.db")
        archive.write(tmp_path / "a.db-wal", "copy/a.db-wal")
    assert read_numbers(tmp_path / "a.zip") == [1, 2]


def written_after_reading(path: Path, writer: sqlite3.Connection, times: int) -> ExportFile:
    """Return a database which, after it is read, gets its changes and has another one beside it, some times."""
    values = iter(range(3, 3 + times))

    def read_and_write() -> IO[bytes]:
        content = BytesIO(path.read_bytes())
        if (value := next(values, None)) is not None:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            writer.execute("INSERT INTO number VALUES (?)", (value,))
            writer.commit()
        return content

    return ExportFile(path.name, path, read_and_write)


def test_nothing_is_missing_of_a_database_that_is_written_while_it_is_copied(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a.db") as writer:
        file = written_after_reading(path, writer, times=1)
        with open_database(file, Export([file])) as db:
            assert db.execute("SELECT value FROM number").fetchall() == [(1,), (2,), (3,)]


def test_a_database_that_is_written_all_the_time_is_an_error(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a.db") as writer:
        file = written_after_reading(path, writer, times=99)
        with (
            pytest.raises(BadFile, match="another program is writing to this database; quit that program"),
            open_database(file, Export([file])),
        ):
            pass


def test_a_database_cannot_be_changed(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a.db"):
        pass
    with (
        open_export([path]) as export,
        pytest.raises(BadFile, match="attempt to write a readonly database"),
        open_database(export.files[0], export) as db,
    ):
        db.execute("INSERT INTO number VALUES (3)")


def test_a_cut_database_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with unsaved_changes(path := tmp_path / "a.db"):
        pass
    content = path.read_bytes()
    for size in range(len(content) - 1, 15, -61):
        path.write_bytes(content[:size])
        with pytest.raises(
            BadFile, match=r"a\.db: the database is damaged or not complete .*; copy it again, together"
        ):
            read_numbers(path)


def test_other_files_are_no_databases(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 2\0" * 9)
    (tmp_path / "b.db").write_bytes(b"")
    with open_export([tmp_path]) as export:
        assert not any(map(is_database, export.files))
