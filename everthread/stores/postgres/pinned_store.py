"""PinnedStore: a store that runs all its calls in one transaction, to copy a bank consistently.

`read_snapshot` reads a bank as it is at one moment, while others write to it. `replace` writes a bank that others see
complete or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import uuid4

from everthread.common.timestamps import to_micros
from everthread.stores.postgres import line_removal
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.bank_cache import BankCache
from everthread.stores.postgres.connections import Connection, set_local
from everthread.stores.postgres.rows import Model
from everthread.stores.postgres.store import PostgresStore
from everthread.types import Receipt, now

Result = TypeVar("Result")

IDLE_TIMEOUT = "600s"  # of a transaction that holds a bank, while another store reads, writes or compares


class PinnedStore(PostgresStore):
    """Reads and writes one bank in the transaction of one connection. Not thread-safe. `banks`, `exists` and `close`
    are those of the store that it is made of."""

    def __init__(self, store: PostgresStore, db: Connection) -> None:
        vars(self).update(vars(store))  # the same pool, and no second thread that builds indexes
        self._db = db
        self._cache = BankCache()  # other stores must not see what is not committed

    def _read(self, bank: str, call: Callable[[Connection], Result], **settings: str) -> Result:
        return call(self._db)

    def _write(
        self,
        bank: str,
        call: Callable[[Connection], Result],
        was_committed: Callable[[Connection, Result], bool] = lambda db, result: False,
    ) -> Result:
        return call(self._db)

    def _index_if_large(self, bank: str, model: Model | None) -> None:
        """Build no index: other connections don't see the lines yet."""


def fix_join_order(db: Connection) -> None:
    """Join tables in the order of each query, until the transaction ends.

    The planner knows the tables as they were before the transaction filled them. If it takes sessions for few, it reads
    a thousand lines again for each of them.
    """
    set_local(db, "join_collapse_limit", "1")


@contextmanager
def read_snapshot(store: PostgresStore, bank: str) -> Iterator[PinnedStore]:
    """Yield a store that reads one snapshot of a bank."""
    store.exists(bank)  # checks the tables
    with store.database.read_transaction(bank) as db:
        yield PinnedStore(store, db)


class ReplacedRows:
    """A bank that a transaction replaces, while its writers wait.

    Attributes:
        reader: reads the bank as it is; None if it is new.
    """

    def __init__(self, store: PostgresStore, db: Connection, bank: str, is_new: bool) -> None:
        self._pinned = PinnedStore(store, db)
        self.reader = None if is_new else self._pinned
        self._db, self._bank = db, bank

    def empty(self, receipts: Iterable[Receipt]) -> PinnedStore:
        """Delete the bank, and store receipts that the database lacks; return the store that writes the new bank."""
        line_removal.forget(self._db, self._bank, "bank", None)
        fix_join_order(self._db)
        for receipt in receipts:
            line_removal.put_receipt(self._db, receipt, uuid4())
        set_local(self._db, "everthread.bank", self._bank)  # row-level security: not the receipts'
        return self._pinned


@contextmanager
def replace(store: PostgresStore, bank: str, may_exist: bool) -> Iterator[ReplacedRows | None]:
    """Yield a bank that is replaced when the block ends without an error; None if it exists and may not."""
    store.exists(bank)  # checks the tables
    with store.database.write_transaction(bank) as db:
        set_local(db, "idle_in_transaction_session_timeout", IDLE_TIMEOUT)
        while not (is_new := bank_rows.create_bank(db, bank, to_micros(now()))):  # a new one is locked as well
            if not may_exist:
                yield None
                return
            if bank_rows.lock_existing(db, bank) is not None:  # otherwise another client has just forgotten it
                break
        yield ReplacedRows(store, db, bank, is_new)
    store.build_indexes(bank)
