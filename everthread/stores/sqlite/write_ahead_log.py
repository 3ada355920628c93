"""Turns on SQLite's write-ahead log, with which readers don't wait for writers."""

from __future__ import annotations

import sqlite3
import time

from everthread.stores.sqlite.file_errors import is_locked

PAUSE_S = 0.005


def use_write_ahead_log(db: sqlite3.Connection, timeout_s: float) -> None:
    """Turn on the log of a file, and wait while another connection opens or closes it.

    SQLite doesn't wait by itself here: it refuses immediately, whatever the connection's timeout is.

    Args:
        db: a connection in no transaction.
        timeout_s: seconds to wait at most.

    Raises:
        sqlite3.OperationalError: another connection holds a lock for longer, or the file can't be written.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()  # to the end, where the write happens, and may fail
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE_S)
