"""Lets one process at a time change the conversations of a bank, among all servers of one database.

As `bank_locks`, but by locks of the database, which gives them to those who wait in their order, and frees them when
the connection of a process that was killed is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from everthread.server.server_db import Busy, SharedDatabase
from everthread.server.workers.bank_locks import bank_busy


class TableLocks:
    """The locks of one process. Thread-safe."""

    def __init__(self, tables: SharedDatabase) -> None:
        self._tables = tables

    @contextmanager
    def hold(self, bank: str, timeout_s: float) -> Iterator[None]:
        """Hold a bank for the duration of the block, and a connection of the database.

        Takes and raises as `BankLocks.hold`; StoreUnavailable if the database can't be used.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self._tables.lock(bank, timeout_s))
            except Busy:
                raise bank_busy() from None
            yield
