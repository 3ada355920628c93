"""PostgresPlace: a database as one of several places of banks. `stores.placed.place` documents the methods."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from everthread.common.timestamps import to_micros
from everthread.errors import NotFound, StoreError
from everthread.stores.errors import second_copy_error
from everthread.stores.postgres import line_removal, moved_rows, schema, vector_index
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.connections import Connection, set_local
from everthread.stores.postgres.moved_rows import refer_from, refer_to
from everthread.stores.postgres.pinned_store import IDLE_TIMEOUT, PinnedStore, fix_join_order
from everthread.stores.postgres.store import PostgresStore
from everthread.types import Receipt, now

log = logging.getLogger("everthread")

_DEPENDENT = tuple(table for table in reversed(schema.TABLES) if table not in ("bank", "receipt"))


class _HeldBank:
    """Implements `stores.placed.place.HeldBank`."""

    def __init__(self, store: PostgresStore, db: Connection, bank: str) -> None:
        self.reader, self.is_gone = PinnedStore(store, db), False
        self._db, self._bank = db, bank

    def leave(self, place: str, move: str) -> None:
        _empty(self._db, self._bank, refer_to(place, move))
        self.is_gone = True


class PostgresPlace:
    """Implements `stores.placed.place.Place`."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store

    @contextmanager
    def hold(self, bank: str) -> Iterator[_HeldBank]:
        self.store.exists(bank)  # checks the tables
        with self.store.database.write_transaction(bank) as db:
            set_local(db, "idle_in_transaction_session_timeout", IDLE_TIMEOUT)
            if bank_rows.lock_existing(db, bank) is None:
                raise NotFound(f"there is no bank {bank!r} in {self.store.location}")
            held = _HeldBank(self.store, db, bank)
            yield held
        if held.is_gone:
            self.store.free_space(bank)

    @contextmanager
    def receive(self, bank: str, origin: str, move: str, receipts: Sequence[Receipt]) -> Iterator[PinnedStore]:
        with self._transaction(bank) as db:
            set_local(db, "idle_in_transaction_session_timeout", IDLE_TIMEOUT)
            if not moved_rows.lock_elsewhere(db, bank, to_micros(now())):
                raise second_copy_error(bank, self.store.location)
            _empty(db, bank, None)
            fix_join_order(db)
            line_removal.add_receipts(db, bank, receipts)
            yield PinnedStore(self.store, db)
            moved_rows.set_elsewhere(db, bank, None, refer_from(origin, move))

    def admit(self, bank: str, origin: str, move: str) -> None:
        with self._transaction(bank) as db:
            is_admitted = moved_rows.set_elsewhere(db, bank, refer_from(origin, move), None)
        if is_admitted:
            try:
                self.store.build_indexes(bank)
            except StoreError as error:  # such as of a role that can't; searches are slower without
                log.warning("bank %s has no index yet: %s", bank, error)

    def refer(self, bank: str, place: str) -> None:
        with self._transaction(bank) as db:
            moved_rows.refer(db, bank, place, to_micros(now()))

    def discard(self, bank: str, move: str) -> None:
        with self._transaction(bank) as db:
            arriving = moved_rows.lock_arrival(db, bank, move)
            if arriving is not None:
                _, origin, _ = arriving.split(" ")
                _empty(db, bank, refer_to(origin, move))
        if arriving is not None:
            self.store.free_space(bank)

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        with self._transaction(bank) as db:
            line_removal.add_receipts(db, bank, receipts)

    def list_arrivals(self) -> dict[str, str]:
        self.store.check_tables()
        with self.store.database.read_transaction(**schema.LISTING_SETTINGS) as db:
            rows = moved_rows.list_arrivals(db)
        return dict(rows.fetchall())

    @contextmanager
    def _transaction(self, bank: str) -> Iterator[Connection]:
        """Begin a transaction that writes a bank which is not here."""
        self.store.check_tables()
        with self.store.database.write_transaction(None) as db:
            set_local(db, "everthread.bank", bank)
            yield db


def _empty(db: Connection, bank: str, elsewhere: str | None) -> None:
    vector_index.drop(db, bank, vector_index.indexed_models(db, bank))
    moved_rows.empty(db, bank, _DEPENDENT, elsewhere)
