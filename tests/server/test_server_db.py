"""The server's file, shared by several objects of one process and by other processes."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hardship.python import run_python

from everthread.errors import StoreUnavailable
from everthread.server.server_db import ServerFile

ONE = "CREATE TABLE IF NOT EXISTS one (number INTEGER)"
TWO = "CREATE TABLE IF NOT EXISTS two (number INTEGER)"
PUT = """
import sys
from pathlib import Path
from everthread.server.server_db import ServerFile
database = ServerFile(Path(sys.argv[1]), sys.argv[2])
with database.write() as db:
    db.execute("INSERT INTO one VALUES (?)", (int(sys.argv[3]),))
database.close()
"""


def write_in_other_process(file: Path, number: int) -> None:
    """Write a number in another process."""
    run_python("-c", PUT, file, ONE, number).check_returncode()


def read_numbers(database: ServerFile) -> list[int]:
    with database.read() as db:
        assert db is not None
        return [number for (number,) in db.execute("SELECT number FROM one ORDER BY number")]


def test_a_process_with_the_file_open_twice_sees_writes_of_others(tmp_path: Path) -> None:
    """If a file is opened and closed outside SQLite, the process loses its locks, and the next process that closes it
    removes the log that is still in use."""
    file = tmp_path / "server.sqlite"
    with closing(ServerFile(file, ONE)) as one, closing(ServerFile(file, TWO)) as two:
        with one.write() as db:
            db.execute("INSERT INTO one VALUES (1)")
        with two.write() as db:
            db.execute("INSERT INTO two VALUES (1)")
        for number in (2, 3):
            write_in_other_process(file, number)
            assert read_numbers(one) == list(range(1, number + 1))
        with one.write() as db:
            db.execute("INSERT INTO one VALUES (4)")
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM one").fetchone() == (4,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_new_file_is_opened_by_several_objects_at_once(tmp_path: Path) -> None:
    """SQLite refuses one of them immediately if two turn on the log at the same moment, as in one of 300 rounds."""
    barrier = threading.Barrier(3)

    def create(file: Path) -> None:
        with closing(ServerFile(file, ONE)) as database:
            barrier.wait()
            with database.write() as db:
                db.execute("INSERT INTO one VALUES (1)")

    with ThreadPoolExecutor(3) as threads:
        for number in range(100):
            file = tmp_path / f"{number}.sqlite"
            list(threads.map(create, [file] * 3))
            with closing(ServerFile(file, ONE)) as database:
                assert read_numbers(database) == [1, 1, 1]


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "data" / "server.sqlite"
    with closing(ServerFile(file, ONE)) as database, database.write():
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700


def test_an_error_names_a_file_that_can_not_be_used(tmp_path: Path) -> None:
    (tmp_path / "server.sqlite").mkdir()
    with (
        pytest.raises(StoreUnavailable, match=r"server\.sqlite"),
        ServerFile(tmp_path / "server.sqlite", ONE).write(),
    ):
        pass
