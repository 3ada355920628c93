"""Transactions on the banks of a database, which are repeated if the connection breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from everthread.common.lazy import Lazy
from everthread.common.timestamps import to_micros
from everthread.errors import BankMoved
from everthread.stores.errors import CommitUnknown
from everthread.stores.limits import check_bank_id
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres import schema
from everthread.stores.postgres.connections import NOTHING_STORED, Connection, Database
from everthread.types import now

Result = TypeVar("Result")

MAX_KNOWN_BANKS = 100_000  # banks whose analyser version a process remembers; the set is cleared beyond that


class Transactions:
    """Calls functions in transactions. Thread-safe.

    Attributes:
        database: the connection pool.
    """

    def __init__(self, database: Database) -> None:
        """Prepare for transactions; the first one creates missing tables, for which those of other threads wait."""
        self.database = database
        self._ready = Lazy(lambda: schema.ensure_tables(database))
        self._checked_banks: set[str] = set()  # banks whose postings are known to be of no later analyser

    def _read(self, bank: str, call: Callable[[Connection], Result], **settings: str) -> Result:
        """Call a function in a read transaction and return its result; repeat it if the connection breaks.

        Args:
            bank: the bank.
            call: reads.
            settings: server settings of the transaction.
        """
        check_bank_id(bank)

        def attempt() -> Result:
            with self.database.read_transaction(bank, **settings) as db:
                self._check_analyser(db, bank)
                return call(db)

        return self._retry(attempt)

    def _write(
        self,
        bank: str,
        call: Callable[[Connection], Result],
        was_committed: Callable[[Connection, Result], bool] = lambda db, result: False,
    ) -> Result:
        """Call a function in a write transaction and return its result; repeat it if the connection breaks.

        Args:
            bank: the bank.
            call: writes. Not repeated if `was_committed` reports that it was committed.
            was_committed: returns whether the previous attempt, whose commit got no answer, was stored. For calls that
                are not idempotent.
        """
        check_bank_id(bank)
        results: list[Result] = []

        def attempt() -> Result:
            with self.database.write_transaction(bank) as db:
                if not results or not was_committed(db, results[-1]):
                    results.append(call(db))
                return results[-1]

        try:
            return self._retry(attempt, NOTHING_STORED)
        except BankMoved as error:
            if not results:
                raise
            raise CommitUnknown(  # the call must not be repeated in the bank's new place
                f"{self.database.display_url} disconnected during the commit, and bank {bank!r} was moved since: the "
                "lines may or may not be stored. Call again with the same keys; no line is stored twice"
            ) from error

    def _write_locked(self, bank: str, call: Callable[[Connection], Result]) -> Result:
        """Call an idempotent function in a write transaction that locks the bank, which is created if it is missing."""

        def write(db: Connection) -> Result:
            bank_rows.lock_bank(db, bank, to_micros(now()))
            return call(db)

        return self._write(bank, write)

    def _retry(self, call: Callable[[], Result], outcome: str = "") -> Result:
        """Call a function once the tables exist, and return its result; repeat it if the connection breaks.

        Args:
            call: the function.
            outcome: as for `Database.map_errors`.
        """

        def attempt() -> Result:
            with self.database.map_errors(outcome):
                self._ready.get(self.database.timeout_s)
            return call()

        return self.database.retry(attempt)

    def _check_analyser(self, db: Connection, bank: str) -> None:
        """Raise BankTooNew if a later analyser wrote the bank's postings.

        Checked once per bank: every write checks it anyway.
        """
        if bank not in self._checked_banks:
            analyser = bank_rows.analyser_version(db, bank)
            bank_rows.check_analyser(bank, analyser)
            if len(self._checked_banks) >= MAX_KNOWN_BANKS:
                self._checked_banks.clear()
            if analyser is not None:
                self._checked_banks.add(bank)

    def _check_again(self, bank: str) -> None:
        """Let the next call check the analyser again: the bank was forgotten, and another version may create it."""
        self._checked_banks.discard(bank)
