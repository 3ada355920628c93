"""The backups that hold a bank, which a setting of the bank lists: what is forgotten is taken out of them as well.

A backup that can't be reached, such as one on a disk that is not connected, holds it until `everthread backup` writes
to its place again, which first forgets there what the receipts of the banks name.

A copy of a bank has the setting as well, but leaves the backups of the first bank as they are: a backup names the store
that it was made of.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from everthread.bank.backup_folder import change_bank, read_manifest
from everthread.common.keys import SETTING_BACKUPS
from everthread.errors import BankDamaged, BankTooNew, EverthreadError, NotFound, StoreUnavailable
from everthread.stores.base import Scope, ScopeName, Store
from everthread.stores.errors import ForgettingUnfinished
from everthread.stores.placed.store import PlacedStore
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.bank_file import file_name, folder_lock
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import JSONValue, Receipt

log = logging.getLogger("everthread")

Result = TypeVar("Result")


class KeptBackup(NamedTuple):
    """A backup that holds a bank: its folder, and its id."""

    path: str
    id: str


def read(store: Store, bank: str) -> list[KeptBackup]:
    """Return the backups that hold a bank; none for a bank that doesn't exist or can't be read.

    Backups of the bank that this one was copied from are left out.
    """
    try:
        kept = parse(store.settings(bank).get(SETTING_BACKUPS)) if store.exists(bank) else []
    except (BankDamaged, BankTooNew):
        return []
    return [each for each in kept if not _is_of_original(store, bank, Path(each.path))]


def is_own(store: Store, made_of: str) -> bool:
    """Return whether a backup was made of a store, or of a folder that is gone, because it was renamed or moved.

    Args:
        store: the store.
        made_of: the location in the backup's manifest.
    """
    return is_same(store, made_of) or not any(map(_may_exist, _split_places(made_of)))


def is_same(store: Store, made_of: str) -> bool:
    """Return whether a backup was made of a store; of several places, one is enough, since others may be added."""
    places = [*store.file.places.values()] if isinstance(store, PlacedStore) else [store.location]
    return not {*map(_identify, places)}.isdisjoint(map(_identify, _split_places(made_of)))


def _identify(location: str) -> str:
    """Return a folder without links, or a database without the user."""
    is_url = location.startswith(dsn.SCHEMES)
    return dsn.redact_password(location).rpartition("@")[2] if is_url else os.path.realpath(location)


def _split_places(location: str) -> list[str]:
    """Return the location of a store, and those of its places if it has several."""
    return [location, *(place.partition(" = ")[2] for place in location.split(", ") if " = " in place)]


def _may_exist(location: str) -> bool:
    """Return whether a folder exists; True for a database, and for a folder that can't be asked for."""
    path = Path(location)
    try:
        return path.exists() if path.is_absolute() else location.startswith(dsn.SCHEMES)
    except OSError:
        return True


def _is_of_original(store: Store, bank: str, folder: Path) -> bool:
    """Return whether a backup is that of a bank from which this one was copied, and which still exists."""
    try:
        with map_errors("", folder):
            made_of = read_manifest(folder).store
            originals = [Path(place) / file_name(bank) for place in _split_places(made_of)]
            return not is_own(store, made_of) and any(path.is_absolute() and path.exists() for path in originals)
    except EverthreadError:  # reported when it is to be changed
        return False


def parse(value: JSONValue | None) -> list[KeptBackup]:
    """Parse the setting; entries of another form are left out."""
    rows = value if isinstance(value, list) else []
    pairs = [row for row in rows if isinstance(row, list) and len(row) == 2]
    return [KeptBackup(str(path), str(number)) for path, number in pairs]


def record(store: Store, bank: str, place: Path, kept: Iterable[KeptBackup]) -> None:
    """Record which backups at a place hold a bank; those at other places stay recorded."""
    holding = list(kept)

    def change(value: JSONValue | None) -> JSONValue:
        ids = {each.id for each in holding}
        others = [each for each in parse(value) if Path(each.path).parent != place and each.id not in ids]
        return [list(each) for each in (*others, *holding)]

    if store.exists(bank):
        store.update_setting(bank, SETTING_BACKUPS, change)


def forget(store: Store, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
    """Delete lines, a session, the lines of a speaker or a bank, also from the backups that hold them.

    The arguments and errors are those of `stores.base.LineStore.forget`. The receipt names the backups that could not
    be reached, and counts the others.
    """
    of_bank = read(store, bank) if scope == "bank" else []  # afterwards it has no settings
    try:
        receipt = store.forget(bank, scope, name, at)
    except ForgettingUnfinished as error:
        if error.receipt is not None:
            _forget_in_backups(store, bank, error.receipt, of_bank)
        raise StoreUnavailable(str(error)) from error
    return _forget_in_backups(store, bank, receipt, of_bank)


def _forget_in_backups(store: Store, bank: str, receipt: Receipt, of_bank: Collection[KeptBackup]) -> Receipt:
    """Delete what was forgotten in a bank from the backups that hold it; return the receipt with what became of them.

    Args:
        store: the store of the bank.
        bank: its id.
        receipt: of what was forgotten.
        of_bank: the backups that held the bank before, if the whole bank was forgotten.
    """
    is_whole, at = receipt.scope == "bank", receipt.forgotten_at
    seqs = [seq for first, last in receipt.seqs for seq in range(first, last + 1)]

    def change(copy: SQLiteStore) -> None:
        copy.forget(bank, "bank" if is_whole else "line", None if is_whole else seqs, at)

    kept = of_bank or read(store, bank)  # after the receipt is stored: a backup that is made meanwhile reads receipts
    failed = _change_all(store, kept, bank, change, "`everthread backup {place}` takes it out")
    return replace(receipt, backups=failed, cleared_backups=len(kept) - len(failed))


def forget_units(
    store: Store, bank: str, forget: Callable[[], Result], change: Callable[[SQLiteStore], object]
) -> Result:
    """Forget units of a bank, also in the backups that hold it.

    A backup that can't be reached is logged: without a receipt, nothing changes it later.

    Args:
        store: the store of the bank.
        bank: its id.
        forget: forgets the units in the bank; returns an empty or false value if there were none.
        change: forgets them in a backup.

    Returns:
        The result of `forget`.
    """
    remedy = "it is in that backup until you remove it"
    try:
        result = forget()
    except ForgettingUnfinished as error:
        _change_all(store, read(store, bank), bank, change, remedy)
        raise StoreUnavailable(str(error)) from error
    if result:
        _change_all(store, read(store, bank), bank, change, remedy)
    return result


def _change_all(
    store: Store, kept: Iterable[KeptBackup], bank: str, change: Callable[[SQLiteStore], object], remedy: str
) -> tuple[str, ...]:
    """Change a bank in backups; return the folders of those that could not be changed, and log the remedy for each, in
    which {place} is the folder of the backup's place."""
    failed: list[str] = []
    for backup in kept:
        folder = Path(backup.path)
        try:
            with map_errors("", folder), folder_lock(folder.parent, exclusive=True):
                manifest = read_manifest(folder)
                if manifest.id != backup.id:
                    raise NotFound(f"{folder} is another backup")
                if not is_own(store, manifest.store):
                    raise NotFound(f"{folder} was made of {manifest.store}, not of {store.location}")
                change_bank(folder, bank, change)
        except EverthreadError as error:
            failed.append(backup.path)
            what = remedy.format(place=folder.parent)
            log.warning("a backup may still hold what was forgotten (%s); %s", error, what)
    return tuple(failed)
