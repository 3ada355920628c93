"""Opens the file of a bank that can't be written, such as one on a disk that is mounted read-only.

SQLite makes a log beside each file that it opens, which is impossible there: either the file has its log already, or it
is opened as one that no process changes.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from everthread.errors import StoreUnavailable

LOG_SUFFIX, LOG_INDEX_SUFFIX = "-wal", "-shm"  # of the files that SQLite creates next to a file in use


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
