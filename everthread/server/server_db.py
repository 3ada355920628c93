"""The server's own data: hashes of keys, accounts, digests, counters, a secret. They contain nothing that was said.

They are in the database of the banks if there is one (`server_tables`), so that several machines can serve it; else in
the file server.sqlite, which several processes of one machine share. The statements are the same for both.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import platformdirs

from everthread.common.undo import undo_on_error
from everthread.errors import StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.placed.store import main_store
from everthread.stores.sqlite.bank_file import create_private
from everthread.stores.sqlite.fork_guard import FORK_GUARD
from everthread.stores.sqlite.store import SQLiteStore
from everthread.stores.sqlite.write_ahead_log import use_write_ahead_log

FILE_NAME = "server.sqlite"
LOCK_TIMEOUT_S = 5.0  # to wait for another process; writing takes milliseconds


class Rows(Protocol):
    """The rows of an executed statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """Executes statements with `?` for each value."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Rows: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class ServerDatabase(Protocol):
    """The server's own data. Thread-safe. Each method raises StoreUnavailable if they can't be read or written."""

    def read(self) -> AbstractContextManager[Transaction | None]:
        """Begin a transaction that reads; None while there are no data."""

    def write(self, subject: str = "") -> AbstractContextManager[Transaction]:
        """Begin a transaction, which is committed unless the block raises.

        Args:
            subject: what is written. A transaction waits for others with the same subject, and perhaps for all.
        """

    def erase(self) -> None:
        """Overwrite the bytes of deleted rows. A database does so when it uses their space again."""

    def close(self) -> None:
        """Close the connections; they are opened again at the next use."""


class Busy(Exception):
    """Raised if a lock is held by others for too long."""


class SharedDatabase(ServerDatabase, Protocol):
    """The server's own data in a database that processes of several machines use."""

    def lock(self, subject: str, timeout_s: float) -> AbstractContextManager[None]:
        """Hold a lock, and a connection; a process that is killed frees both. Raises Busy, StoreUnavailable."""


Location = Path | SharedDatabase


def get_path(store: Store) -> Path:
    """Return the path of the file: in the folder of the banks or, with a database, in the user's data folder."""
    main = main_store(store)
    folder = main.folder if isinstance(main, SQLiteStore) else Path(platformdirs.user_data_dir("everthread"))
    return folder / FILE_NAME


def open_database(location: Location, schema: str) -> ServerDatabase:
    """Open the server's own data.

    Args:
        location: from `data_location.find_location`.
        schema: statements that create the caller's tables in a file unless they exist.
    """
    return ServerFile(location, schema) if isinstance(location, Path) else location


class ServerFile:
    """A connection to the file, opened when it is first needed. Safe for use by several threads and processes."""

    def __init__(self, file: Path, schema: str) -> None:
        """Open the file, which is created if it is missing.

        Args:
            file: the path.
            schema: statements that create the caller's tables unless they exist.
        """
        self.file, self._schema = file, schema
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        FORK_GUARD.register(self)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection | None]:
        """Yield the connection, or None while there is no file; reading doesn't create it.

        Raises:
            StoreUnavailable: if the file can't be read.
        """
        with FORK_GUARD, self._lock, self._map_errors():
            yield self._open() if self._db or self.file.exists() else None

    @contextmanager
    def write(self, subject: str = "") -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, which waits for all others whatever their subject.

        Raises:
            StoreUnavailable: if the file can't be written.
        """
        with FORK_GUARD, self._lock, self._map_errors():
            db = self._open()
            with db:
                db.execute("BEGIN IMMEDIATE")
                yield db

    def erase(self) -> None:
        """Rewrite the file without the bytes of deleted rows, and empty its log.

        Raises:
            StoreUnavailable: the file can't be written, or another process is using it for too long.
        """
        with FORK_GUARD, self._lock, self._map_errors():
            if self._db or self.file.exists():
                db = self._open()
                db.execute("VACUUM")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        with FORK_GUARD, self._lock:
            self._close_connection()

    def close_idle(self) -> None:
        """Close the file before the process is forked; it is opened again at the next use."""
        if self._lock.acquire(blocking=False):  # otherwise this thread is using it
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
            db = sqlite3.connect(self.file, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            with undo_on_error(db.close):
                use_write_ahead_log(db, LOCK_TIMEOUT_S)
                db.executescript(self._schema)
            self._db = db
        return self._db

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            remedy = "check that its folder is writable and has free space, and try again"
            raise StoreUnavailable(f"cannot use this file: {error}", path=self.file, remedy=remedy) from error
