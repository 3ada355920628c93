"""SQLitePlace: a folder as one of several places of banks. `stores.placed.place` documents the methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from everthread.common.staging import staging_folder
from everthread.errors import NotFound
from everthread.stores.base import Store
from everthread.stores.errors import second_copy_error
from everthread.stores.sqlite.bank_file import LOG_SUFFIXES, bank_id, file_name, folder_lock, sync_folder
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.moved_file import ARRIVING, find_arrival, is_note, name_arrival, parse_arrival, write_note
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import Receipt


class _HeldBank:
    """Implements `stores.placed.place.HeldBank`."""

    def __init__(self, reader: Store, folder: Path, put: Callable[[Path], object]) -> None:
        self.reader = reader
        self._folder, self._put = folder, put

    def leave(self, place: str, move: str) -> None:
        with map_errors("", self._folder), staging_folder(self._folder) as staging:
            write_note(staging / "note", place, move)
            self._put(staging / "note")


class SQLitePlace:
    """Implements `stores.placed.place.Place`."""

    def __init__(self, store: SQLiteStore) -> None:
        self.store = store

    @contextmanager
    def hold(self, bank: str) -> Iterator[_HeldBank]:
        if not self.store.exists(bank):
            raise NotFound(f"there is no bank {bank!r} in {self.store.location}")
        with self.store.hold(bank) as (reader, put):
            yield _HeldBank(reader, self.store.folder, put)

    @contextmanager
    def receive(self, bank: str, origin: str, move: str, receipts: Sequence[Receipt]) -> Iterator[Store]:
        folder, path = self.store.folder, self.store.folder / file_name(bank)
        arrival = name_arrival(path, origin, move)
        self._check_absent(bank, path)
        self._discard(bank, path, "*")
        with ExitStack() as stack:
            with map_errors("", folder):
                staging = stack.enter_context(staging_folder(folder))
            with closing(SQLiteStore(staging)) as staged:
                yield staged
            with map_errors(bank, path):
                self.add_receipts(bank, receipts)
                arrival.parent.mkdir(mode=0o700, parents=True)
                (staging / path.name).replace(arrival)
                for each in (arrival.parent, arrival.parent.parent, folder):
                    sync_folder(each)

    def _check_absent(self, bank: str, path: Path) -> None:
        if path.exists() and not is_note(path):
            raise second_copy_error(bank, self.store.location)

    def admit(self, bank: str, origin: str, move: str) -> None:
        folder, path = self.store.folder, self.store.folder / file_name(bank)
        arrival = name_arrival(path, origin, move)
        with map_errors(bank, path), folder_lock(folder, exclusive=True):
            if not arrival.exists():
                return
            self._check_absent(bank, path)
            for suffix in LOG_SUFFIXES:  # of an earlier stay, if its process was killed: SQLite would apply them
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            arrival.replace(path)
            sync_folder(folder)
            arrival.parent.rmdir()

    def refer(self, bank: str, place: str) -> None:
        folder, path = self.store.folder, self.store.folder / file_name(bank)
        with map_errors(bank, path), staging_folder(folder) as staging:
            write_note(staging / "note", place, "")
            with folder_lock(folder, exclusive=True):
                if not path.exists() and find_arrival(path) is None:
                    (staging / "note").replace(path)
                    sync_folder(folder)

    def discard(self, bank: str, move: str) -> None:
        self._discard(bank, self.store.folder / file_name(bank), move)

    def _discard(self, bank: str, path: Path, move: str) -> None:
        """Delete the copy of a move, or with "*" of all moves."""
        with map_errors(bank, path), folder_lock(self.store.folder, exclusive=True):
            while (arrival := find_arrival(path, move)) is not None:
                arrival.unlink()
                sync_folder(arrival.parent)
                arrival.parent.rmdir()

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        self.store.add_receipts(bank, receipts)

    def list_arrivals(self) -> dict[str, str]:
        paths = (self.store.folder / ARRIVING).glob("*/*")
        return {bank: parse_arrival(path)[0] for path in paths if (bank := bank_id(path.name)) is not None}
