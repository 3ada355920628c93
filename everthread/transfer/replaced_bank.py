"""Puts a copy of a bank in the place of the bank, while the bank's writers wait.

A line is stored either before the bank is held, and is then replaced, or in the bank that takes its place. The bank
appears complete or not at all: a file is moved to its place, and on Postgres all is written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from everthread.errors import BadInput, BankDamaged, BankTooNew, StoreError
from everthread.stores.base import Store
from everthread.stores.sqlite import receipts as receipts_file
from everthread.stores.sqlite.bank_file import file_name
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.transfer.bank_contents import Summary, copy_contents, summarize
from everthread.types import Receipt

if TYPE_CHECKING:
    from everthread.stores.postgres.pinned_store import ReplacedRows


class ReplacedBank(Protocol):
    """A bank to which nothing else is written until it is replaced.

    Attributes:
        reader: reads the bank as it is; None if it is new or damaged.
    """

    @property
    def reader(self) -> Store | None: ...

    def put(self, staged: SQLiteStore, receipts: Iterable[Receipt], summary: Summary) -> None:
        """Replace the bank.

        Args:
            staged: a store with the copy, which is closed.
            receipts: of what was forgotten in the bank, which the store lacks.
            summary: of the copy.

        Raises:
            BadInput: another process has created the bank in the meantime; it stays.
            StoreError: the bank can't be written, or differs from the copy.
        """


def hold(store: Store, bank: str, force: bool) -> AbstractContextManager[ReplacedBank]:
    """Let the writers of a bank in a folder or a database wait while the block runs.

    Args:
        store: the store.
        bank: the bank.
        force: whether the bank may exist.
    """
    return _hold_file(store, bank, force) if isinstance(store, SQLiteStore) else _hold_rows(store, bank, force)


def check_missing(store: Store, bank: str, force: bool) -> None:
    """Raise BadInput if a bank exists and may not be replaced."""
    if not force and store.exists(bank):
        remedy = "restore it under another id, or replace it with {option}"
        raise BadInput(f"bank {bank!r} exists already in {store.location}", remedy=remedy, option="force")


def _bank_created_error(store: Store, bank: str, force: bool) -> BadInput:
    """Build the error for a bank that did not exist when its restoration began: its lines are newer than the request
    to replace them, if there was one."""
    what = f"another process created bank {bank!r} in {store.location} while it was being restored; it stays as it is"
    if force:
        return BadInput(what, remedy="restore under another id, or again, which deletes what the bank has by now")
    remedy = "restore under another id, or with {option}, which deletes what the bank has by now"
    return BadInput(what, remedy=remedy, option="force")


class _FileToReplace:
    def __init__(
        self, store: SQLiteStore, bank: str, force: bool, reader: Store | None, put: Callable[[Path], bool]
    ) -> None:
        self.reader = reader
        self._store, self._bank, self._force, self._put = store, bank, force, put

    def put(self, staged: SQLiteStore, receipts: Iterable[Receipt], summary: Summary) -> None:
        staged.close()
        path = self._store.folder / file_name(self._bank)
        with map_errors(self._bank, path, "Nothing was restored. "):
            receipts_file.write(self._store.folder, receipts)
            is_put = self._put(staged.folder / path.name)
        if not is_put:
            raise _bank_created_error(self._store, self._bank, self._force)


@contextmanager
def _hold_file(store: SQLiteStore, bank: str, force: bool) -> Iterator[_FileToReplace]:
    with ExitStack() as stack:
        if not force or not store.exists(bank):
            yield _FileToReplace(store, bank, force, None, partial(store.put_file, bank, replace=False))
            return
        held = None
        with suppress(BankDamaged, BankTooNew):  # to which no process of this version can write
            held = stack.enter_context(store.hold(bank))
        yield _FileToReplace(store, bank, force, *(held or (None, partial(store.put_file, bank, replace=True))))


class _RowsToReplace:
    def __init__(self, store: Store, replaced: ReplacedRows, bank: str) -> None:
        self.reader = replaced.reader
        self._store, self._replaced, self._bank = store, replaced, bank

    def put(self, staged: SQLiteStore, receipts: Iterable[Receipt], summary: Summary) -> None:
        written = self._replaced.empty(receipts)
        copy_contents(staged, self._bank, written)
        staged.close()
        if summarize(written, self._bank) != summary:
            raise StoreError(
                f"bank {self._bank!r} differs from the backup once it is in {self._store.location}; it is not "
                "restored. Check the disk of the database, and restore again"
            )


@contextmanager
def _hold_rows(store: Store, bank: str, force: bool) -> Iterator[_RowsToReplace]:
    from everthread.stores.postgres.pinned_store import replace
    from everthread.stores.postgres.store import PostgresStore

    assert isinstance(store, PostgresStore)
    with replace(store, bank, force) as replaced:
        if replaced is None:
            raise _bank_created_error(store, bank, force)
        yield _RowsToReplace(store, replaced, bank)
