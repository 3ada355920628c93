"""Opens the file of a bank that can't be written, such as one on a disk that is mounted read-only, or that is full.

SQLite makes a log beside each file that it opens, which is impossible on a read-only disk: either the file has its log
already, or it is opened as one that no process changes. On a full disk there is no room for the index of the log, which
SQLite then keeps in memory, provided that no other process uses the file meanwhile.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from pathlib import Path

from everthread.common.undo import undo_on_error
from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.file_errors import LOCK_TIMEOUT_S, is_locked

LOG_SUFFIX, LOG_INDEX_SUFFIX = "-wal", "-shm"  # of the files that SQLite creates next to a file in use
MAX_RETRY_DELAY_S = 0.01  # before a locked file is tried again


def is_write_protected(path: Path) -> bool:
    """Return whether a file exists, but it or its folder can't be written."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def connect(bank: str, path: Path) -> sqlite3.Connection:
    """Open the file of a bank for reading alone.

    Raises:
        StoreUnavailable: its newest lines are in a log that can't be read without writing.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in (LOG_SUFFIX, LOG_INDEX_SUFFIX))
    if log.exists() and index.exists():  # another process has the bank open, or was killed
        mode = "mode=ro"
    elif log.exists() and log.stat().st_size:
        raise StoreUnavailable(
            f"bank {bank!r} ({path}) can't be read where it can't be written: its newest lines are in {log.name}, "
            "which must be written into the bank first. Copy the folder to a place that can be written, and read it "
            "there"
        )
    else:
        mode = "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA cache_size = -16000")  # KB, as of other connections
    return db


def connect_on_full_disk(path: Path) -> sqlite3.Connection:
    """Open the file of a bank for reading, with the index of its log in memory. Others wait until it is closed.

    Two that begin at once hold a shared lock each and wait for the other's, so that both let go, and try again.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            return _connect_exclusively(path)
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, MAX_RETRY_DELAY_S))


def _connect_exclusively(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    with undo_on_error(db.close):
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # before the first access (sqlite.org/wal.html, section 8)
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA cache_size = -16000")  # KB, as of other connections
        db.execute("PRAGMA schema_version").fetchone()
    return db
