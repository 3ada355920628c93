"""OpenBank: the file of one bank with its cache."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from everthread.stores.sqlite.bank_file import BankFile
from everthread.stores.sqlite.cache import BankCache

Cached = TypeVar("Cached")


class OpenBank:
    """One open bank: its file and its cache.

    The cache is read before anything else in a transaction, which has its snapshot from the first read. As the lock is
    acquired before, the cache is never newer than the snapshot.
    """

    def __init__(self, file: BankFile) -> None:
        self.file = file
        self.lock = threading.Lock()
        self.cache = BankCache()

    @contextmanager
    def snapshot(
        self, read: Callable[[BankCache, sqlite3.Connection], Cached]
    ) -> Iterator[tuple[sqlite3.Connection, Cached]]:
        """Yield a read connection, and what `read` returns from the cache, both of one snapshot of the bank."""
        with self.file.read_with_inode() as (inode, db):
            with self.lock:
                self.cache.use_file(inode)
                cached = read(self.cache, db)
            yield db, cached
