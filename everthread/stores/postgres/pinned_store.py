"""PinnedStore: a store that runs all its calls in one transaction, to copy a bank consistently.

`read_snapshot` reads a bank as it is at one moment, while others write to it. `rewrite` writes a bank that others see
complete or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import uuid4

from everthread.stores.postgres import line_removal
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.bank_cache import BankCache
from everthread.stores.postgres.connections import Connection, set_local
from everthread.stores.postgres.rows import Model
from everthread.stores.postgres.store import PostgresStore
from everthread.types import Receipt

Result = TypeVar("Result")


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


@contextmanager
def rewrite(store: PostgresStore, bank: str, replace: bool, receipts: list[Receipt]) -> Iterator[PinnedStore | None]:
    """Yield a store that writes a bank in one transaction, or None if the bank exists.

    Args:
        store: the store.
        bank: the bank.
        replace: whether the bank may exist; it is then deleted in the same transaction.
        receipts: of what was forgotten in the bank, which the store lacks.
    """
    store.exists(bank)  # checks the tables
    with store.database.write_transaction(bank) as db:
        exists = bank_rows.lock_existing(db, bank) is not None
        if exists and not replace:
            yield None
            return
        if exists:
            line_removal.forget(db, bank, "bank", None)
        fix_join_order(db)
        for receipt in receipts:
            line_removal.put_receipt(db, receipt, uuid4())
        db.execute("SELECT set_config('everthread.bank', %s, true)", (bank,))  # row-level security: not the receipts'
        yield PinnedStore(store, db)
    store.build_indexes(bank)
