"""Turning on the write-ahead log while others open the file."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everthread.stores.sqlite.write_ahead_log import use_write_ahead_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.sqlite"


@pytest.fixture
def holder(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the lock of a file without a write-ahead log, as a connection does that turns it on."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield db


def test_another_connection_that_is_turning_it_on_is_waited_for(path: Path, holder: sqlite3.Connection) -> None:
    release = threading.Timer(0.05, lambda: holder.execute("COMMIT"))
    release.start()
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
        use_write_ahead_log(db, timeout_s=60)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    release.join()


def test_waiting_ends_with_the_time_that_is_given(path: Path, holder: sqlite3.Connection) -> None:
    with (
        closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        use_write_ahead_log(db, timeout_s=0.02)
    assert holder.in_transaction


def test_a_file_that_cannot_be_written_is_not_waited_for(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE numbers (number INTEGER)")
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as db,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        use_write_ahead_log(db, timeout_s=60)
