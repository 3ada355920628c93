"""PlacedStore: one store over several places. It calls the place of each bank, and follows a bank that was moved.

The places know where a bank is: `place` explains how, and `places_file` where a search begins. A process remembers the
place of each bank that it has used, so that a call costs no more than one to the place itself. A place that can't be
reached affects its own banks, and the creation of new ones, which may be there.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any, TypeVar

from everthread.errors import BankMoved, ConfigError, NotFound, StoreError, StoreUnavailable
from everthread.stores.base import (
    BankCatalog,
    JobQueue,
    LineStore,
    Scope,
    ScopeName,
    SettingStore,
    Store,
    TermIndex,
    VectorStore,
)
from everthread.stores.copying import CopyReader
from everthread.stores.limits import check_bank_id
from everthread.stores.placed.place import Place
from everthread.stores.placed.places_file import PlacesFile
from everthread.stores.postgres import dsn
from everthread.stores.token_store import TokenStore
from everthread.stores.unit_store import UnitStore
from everthread.types import Filter, Line, Receipt

Result = TypeVar("Result")

log = logging.getLogger("everthread")

MAX_KNOWN_BANKS = 100_000  # banks whose place a process remembers; all are forgotten beyond that
MAX_HOPS = 100  # references followed in one call; each is a move, and only moves during the call add to them


class PlacedStore(Store):
    """Stores each bank in one of several places.

    Attributes:
        file: the places by name.
    """

    def __init__(self, file: PlacesFile, open_place: Callable[[str], Place]) -> None:
        """Open no place yet.

        Args:
            file: the places by name.
            open_place: opens a place, given by its folder or URL.
        """
        self.file = file
        self._open_place = open_place
        self._opened: dict[str, Place] = {}
        self._known: dict[str, str] = {}

    @property
    def location(self) -> str:
        return ", ".join(f"{name} = {dsn.redact_password(place)}" for name, place in self.file.places.items())

    def get_place(self, name: str) -> Place:
        """Return a place by its name. Raises BadInput, StoreUnavailable."""
        if (place := self._opened.get(name)) is not None:
            return place
        try:
            place = self._open_place(self.file.places[self.file.check_name(name)])
        except NotFound as error:
            folder = self.file.places[name]
            what = f"the place {name!r} is the folder {folder}, which does not exist"
            raise StoreUnavailable(
                f"{what}; mount its disk or, if it is new, create it with: mkdir {folder}"
            ) from error
        return self._opened.setdefault(name, place)

    def banks(self) -> list[str]:
        found, failures = self.list_banks()
        if len(failures) == len(self.file.places):
            raise next(iter(failures.values()))
        for name, error in failures.items():
            log.warning("the banks of the place %s are not listed: %s", name, error)
        return sorted(set().union(*found.values()))

    def list_banks(self) -> tuple[dict[str, list[str]], dict[str, StoreError]]:
        """List the banks of each place, or the error of a place that does not answer, by its name."""
        found, failures = dict[str, list[str]](), dict[str, StoreError]()
        for name in self.file.places:
            with suppress(StoreError):  # of this place, which the next loop meets again
                for bank in self.get_place(name).list_arrivals():
                    with suppress(StoreError):  # its old place does not answer; it is not listed until that does
                        self.exists(bank)  # admits it, if its move was interrupted after it had left
        for name in self.file.places:
            try:
                found[name] = self.get_place(name).store.banks()
            except StoreError as error:
                failures[name] = error
        return found, failures

    def exists(self, bank: str) -> bool:
        return self.call(bank, lambda store: store.exists(bank))

    def lines(
        self,
        bank: str,
        where: Filter | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        include_retracted: bool = False,
        include_wordless: bool = False,
    ) -> Iterator[Line]:
        left, options = limit, {"include_retracted": include_retracted, "include_wordless": include_wordless}
        while True:
            try:
                for line in self.find(bank).store.lines(bank, where, after=after, limit=left, **options):
                    after, left = line.seq, None if left is None else left - 1
                    yield line
                return
            except BankMoved:
                continue  # from the place that `find` follows it to

    def copy_reader(self, bank: str) -> CopyReader:
        return _CopyReader(self, bank)

    def receipts(self, bank: str) -> list[Receipt]:
        return self.find(bank).store.receipts(bank)  # receipts stay in the places that a bank has left

    def add_receipts(self, bank: str, receipts: Sequence[Receipt]) -> None:
        self.find(bank).store.add_receipts(bank, receipts)  # a place that the bank has left would take them

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        self.discard_arrivals(bank)  # before, so that nothing is forgotten if a place can't be asked
        place, receipt = self._ask(bank, lambda store: store.forget(bank, scope, name, at))
        while (current := self.find_name(bank)) != place:  # it was moved before the receipt was written
            place = current
            self.get_place(place).add_receipts(bank, [receipt])
        self.discard_arrivals(bank)  # of a move that has begun in the meantime
        return receipt

    def close(self) -> None:
        for place in self._opened.values():
            place.store.close()

    # ------------------------------------------------------------------ finding

    def call(self, bank: str, call: Callable[[Store], Result]) -> Result:
        """Call a function with the store of a bank's place and return its result; again if the bank was moved."""
        return self._ask(bank, call)[1]

    def _ask(self, bank: str, call: Callable[[Store], Result]) -> tuple[str, Result]:
        """Do what `call` does; return the name of the place as well."""
        name = self._known.get(bank)
        if name is None:
            name = self._remember(bank, self._search(bank))
        name, result = self._follow(bank, name, call)
        self._known[bank] = name
        return name, result

    def answers(self, bank: str) -> bool:
        """Return whether the place of a bank can be asked; log a warning if not."""
        try:
            self.exists(bank)
        except StoreUnavailable as error:
            log.warning("bank %s is left out: %s", bank, error)
            return False
        return True

    def find(self, bank: str) -> Place:
        """Return the place of a bank or, if it does not exist, the one in which it will be created."""
        return self.get_place(self.find_name(bank))

    def find_name(self, bank: str) -> str:
        """Return the name of the place of a bank, as `find` does."""
        return self._ask(bank, lambda store: store.exists(bank))[0]

    def _remember(self, bank: str, name: str) -> str:
        if len(self._known) >= MAX_KNOWN_BANKS:
            self._known.clear()
        self._known[bank] = name
        return name

    def _search(self, bank: str) -> str:
        """Find a bank: from its home by the references, else in the other places, if the file of places was changed.

        Raises:
            StoreUnavailable: it is nowhere, but not all places answer.
        """
        home, *others = self.file.order(check_bank_id(bank))
        last, exists = self._follow(bank, home, lambda store: store.exists(bank))
        if exists:
            return last
        for other in others:
            try:
                found, exists = self._follow(bank, other, lambda store: store.exists(bank))
            except StoreUnavailable as error:
                raise StoreUnavailable(
                    f"bank {bank!r} is in no place that answers, and the place {other!r} can't be asked: {error}"
                ) from error
            if exists:
                self.get_place(home).refer(bank, found)
                return found
        return last

    def _follow(self, bank: str, name: str, call: Callable[[Store], Result]) -> tuple[str, Result]:
        """Call a function with the store of a place, or of those to which a bank was moved; return the last place."""
        referrer = "", ""  # the place that has referred to this one, and the id of the move
        for _ in range(MAX_HOPS):
            place = self.get_place(name)
            try:
                return name, call(place.store)
            except BankMoved as moved:
                if moved.bank != bank:
                    raise
                if moved.place not in self.file.places:
                    what = f"bank {bank!r} was moved from {name!r} to the place {moved.place!r}"
                    raise ConfigError(f"{what}, which {self.file.path} lacks; add it under this name") from moved
                if moved.is_arriving and (moved.place, moved.move) == referrer:
                    place.admit(bank, *referrer)
                else:
                    referrer, name = ("", "") if moved.is_arriving else (name, moved.move), moved.place
        raise StoreUnavailable(f"bank {bank!r} was moved {MAX_HOPS} times during one call; try again")

    def discard_arrivals(self, bank: str) -> None:
        """Delete copies that interrupted moves have left in other places, with what the bank has forgotten since.

        Raises:
            StoreUnavailable: a place does not answer, and may have one.
        """
        for name in self.file.places:
            while (move := self._find_arrival(name, bank)) is not None:
                with suppress(BankMoved, NotFound):  # moved or forgotten by another process, in the meantime
                    own, exists = self._ask(bank, lambda store: store.exists(bank))
                    with self.get_place(own).hold(bank) if exists else nullcontext():
                        self.get_place(name).discard(bank, move)

    def _find_arrival(self, name: str, bank: str) -> str | None:
        """Return the id of the move whose copy of a bank a place has; None if it has none."""
        self.exists(bank)  # admits it, if it has left
        try:
            self.get_place(name).store.exists(bank)
        except BankMoved as moved:
            return moved.move if moved.is_arriving else None
        except StoreUnavailable as error:
            raise StoreUnavailable(
                f"the place {name!r} can't be asked whether a move of bank {bank!r} left a copy there; try again when "
                f"it answers: {error}"
            ) from error
        return None


class _CopyReader:
    """Implements `stores.copying.CopyReader`."""

    def __init__(self, store: PlacedStore, bank: str) -> None:
        self._store, self._bank = store, bank

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *values: self._store.call(
            self._bank, lambda store: getattr(store.copy_reader(self._bank), name)(*values)
        )


def _delegate(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Store, name))
    def call(self: PlacedStore, bank: str, *values: Any, **options: Any) -> Any:
        return self.call(bank, lambda store: getattr(store, name)(bank, *values, **options))

    return call


_PARTS = (BankCatalog, LineStore, TermIndex, VectorStore, TokenStore, UnitStore, SettingStore, JobQueue, Store)
DELEGATED = sorted(
    {name for part in _PARTS for name in vars(part) if not name.startswith("_")} - vars(PlacedStore).keys()
)
for _name in DELEGATED:
    setattr(PlacedStore, _name, _delegate(_name))


def open_placed(file: PlacesFile, open_place: Callable[[str], Place]) -> PlacedStore:
    """Create a store over several places; see `PlacedStore`."""
    return PlacedStore(file, open_place)  # type: ignore[abstract]  # the delegated methods are set below the class


def list_stores(store: Store) -> list[Store]:
    """Return the stores of the places that can be opened, or the store itself if it has no places."""
    if not isinstance(store, PlacedStore):
        return [store]
    opened = list[Store]()
    for name in store.file.places:
        with suppress(StoreUnavailable):
            opened.append(store.get_place(name).store)
    return opened


def main_store(store: Store) -> Store:
    """Return the store of the first place, which has what belongs to no bank, or the store itself."""
    return store.get_place(next(iter(store.file.places))).store if isinstance(store, PlacedStore) else store


def call_store(store: Store, bank: str, call: Callable[[Store], Result]) -> Result:
    """Call a function with the folder or the database that has a bank; again if the bank was moved."""
    return store.call(bank, call) if isinstance(store, PlacedStore) else call(store)


def list_all_banks(store: Store) -> list[str]:
    """List the banks of all places. Raises StoreUnavailable if one does not answer."""
    if not isinstance(store, PlacedStore):
        return store.banks()
    first, second = _list_all(store), _list_all(store)  # a bank that is moved meanwhile may be missing in one of them
    return sorted((first & second) | {bank for bank in first ^ second if store.exists(bank)})


def _list_all(store: PlacedStore) -> set[str]:
    found, failures = store.list_banks()
    for name, error in failures.items():
        raise StoreUnavailable(f"the banks of the place {name!r} can't be listed: {error}") from error
    return set().union(*found.values())
