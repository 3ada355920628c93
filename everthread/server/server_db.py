"""server.sqlite: what the server keeps of its own, beside the banks. It holds keys' hashes and numbers, and no text."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from everthread.errors import StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.sqlite.bank_file import create_private
from everthread.stores.sqlite.fork_guard import GUARD
from everthread.stores.sqlite.store import SQLiteStore

FILE_NAME = "server.sqlite"
LOCK_TIMEOUT_S = 5.0  # seconds to wait for another process; what is written here takes milliseconds


def get_path(store: Store) -> Path:
    """Where it is: in the folder of the banks, or in the data folder of whoever has them in a database."""
    folder = store.folder if isinstance(store, SQLiteStore) else Path(platformdirs.user_data_dir("everthread"))
    return folder / FILE_NAME


class ServerDatabase:
    """The file, open as soon as somebody writes, or it is there. Safe from many threads and processes.

    schema: statements that make the tables of its user, and change nothing where they are there.
    """

    def __init__(self, file: Path, schema: str) -> None:
        self.file, self._schema = file, schema
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        GUARD.closes(self)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection | None]:
        """The connection, or None while there is no file: whoever only reads makes none."""
        with GUARD, self._lock, self._map_errors():
            yield self._open() if self._db or self.file.exists() else None

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction that is kept if nothing goes wrong. StoreUnavailable else."""
        with GUARD, self._lock, self._map_errors():
            db = self._open()
            with db:
                db.execute("BEGIN IMMEDIATE")
                yield db

    def close(self) -> None:
        """Let go of the file."""
        with GUARD, self._lock:
            self._close_connection()

    def let_go(self) -> None:
        """Close the file, as the process is to be forked; it is opened again at the next use."""
        if self._lock.acquire(blocking=False):  # else this very thread is using it
            try:
                self._close_connection()
            finally:
                self._lock.release()

    def _close_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(self.file)
            db = sqlite3.connect(self.file, LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA journal_mode = WAL")  # whoever reads never waits for whoever writes
            db.executescript(self._schema)
            self._db = db
        return self._db

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            remedy = "see that its folder can be written and has room, and try again"
            raise StoreUnavailable(f"{self.file} can't be used: {error}; {remedy}") from error
