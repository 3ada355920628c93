"""A bank as it is in one transaction: the connection, and what the cache has of that moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from everthread.stores.dense_index import DenseIndex
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.line_columns import LineColumns
from everthread.stores.sqlite.bank_file import BankFile
from everthread.stores.sqlite.cache import BankCache
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.open_bank import Cached, OpenBank


class CacheView(BankCache):
    """A bank's cache as it is at one moment, while other threads update the cache itself."""

    def __init__(self, cache: BankCache, db: sqlite3.Connection, expected: ExpectedReads) -> None:
        """Take what is expected from the cache, at the beginning of a transaction."""
        self._taken = cache.line_columns(db)
        self._index: DenseIndex | None = None
        if expected.vector is not None:
            self._key = expected.model, expected.vector.shape[-1]
            self._index = cache.dense_index(db, *self._key, exact=True)

    def line_columns(self, db: sqlite3.Connection) -> LineColumns:
        return self._taken

    def dense_index(self, db: sqlite3.Connection, model: str, dim: int, exact: bool = False) -> DenseIndex:
        if self._index is not None and self._key == (model, dim):
            return self._index
        return BankCache().dense_index(db, model, dim, exact)  # of another model: read from the file


class BankSnapshot(OpenBank):
    """A bank in an open transaction."""

    def __init__(self, file: BankFile, db: sqlite3.Connection, view: BankCache) -> None:
        """Use the transaction of a connection to the file."""
        self.file, self._view = _SnapshotFile(file, db), view

    @contextmanager
    def snapshot(
        self, read: Callable[[BankCache, sqlite3.Connection], Cached]
    ) -> Iterator[tuple[sqlite3.Connection, Cached]]:
        with self.file.read_once() as db:
            yield db, read(self._view, db)


class _SnapshotFile(BankFile):
    """The file in the open transaction."""

    def __init__(self, file: BankFile, db: sqlite3.Connection) -> None:
        self.bank, self.path, self._db = file.bank, file.path, db

    @contextmanager
    def read_once(self) -> Iterator[sqlite3.Connection]:
        with map_errors(self.bank, self.path):
            yield self._db

    read_transaction = read_once
