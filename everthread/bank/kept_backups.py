"""The backups that hold a bank, which a setting of the bank lists: what is forgotten is taken out of them as well.

Each backup has the receipts of what is not in it, so that what is left to forget there are the other receipts of the
bank. It is done by the next forgetting, by `everthread backup` to its place, and when the bank is opened: the setting
marks backups before something is forgotten, and until it is forgotten there as well. So nothing is left if a process is
killed in between, or a backup can't be reached for a while, such as one on a disk that is not connected.

A copy of a bank has the setting as well, but leaves the backups of the first bank as they are: a backup names the store
that it was made of.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from everthread.bank.backup_folder import Manifest, change_bank, forget_since, read_manifest
from everthread.common.keys import SETTING_BACKUPS
from everthread.errors import BankDamaged, BankTooNew, EverthreadError, NotFound, StoreUnavailable
from everthread.stores.base import Scope, ScopeName, Store
from everthread.stores.errors import ForgettingUnfinished
from everthread.stores.placed.store import PlacedStore, list_stores
from everthread.stores.postgres import dsn
from everthread.stores.shared_rows import select_missing_receipts
from everthread.stores.sqlite import receipts
from everthread.stores.sqlite.bank_file import file_name, folder_lock
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import JSONValue, Receipt

log = logging.getLogger("everthread")

Result = TypeVar("Result")

_REMEDY = "`everthread backup {place}` takes it out"


class KeptBackup(NamedTuple):
    """A backup that holds a bank.

    Attributes:
        path: its folder.
        id: the id of its manifest.
        is_pending: whether something forgotten in the bank may be left in it.
    """

    path: str
    id: str
    is_pending: bool = False


def read(store: Store, bank: str) -> list[KeptBackup]:
    """Return the backups that hold a bank; none for a bank that doesn't exist or can't be read.

    Backups of the bank that this one was copied from are left out.
    """
    return [each for each in _read_all(store, bank) if not _is_of_original(store, bank, Path(each.path))]


def _read_all(store: Store, bank: str) -> list[KeptBackup]:
    """Return what a bank records, also if it is a copy."""
    try:
        return parse(store.settings(bank).get(SETTING_BACKUPS)) if store.exists(bank) else []
    except (BankDamaged, BankTooNew):
        return []


def is_own(store: Store, backup: Manifest) -> bool:
    """Return whether a backup was made of a store, or of a folder that is gone, because it was renamed or moved."""
    return is_same(store, backup) or not any(map(_may_exist, _split_places(backup.store)))


def is_same(store: Store, backup: Manifest) -> bool:
    """Return whether a backup was made of a store; of several places, one is enough, since others may be added."""
    if backup.store == store.location:  # as a rule, and for each bank in each backup
        return True
    places = [*store.file.places.values()] if isinstance(store, PlacedStore) else [store.location]
    if not {*map(_identify, places)}.isdisjoint(map(_identify, _split_places(backup.store))):
        return True
    return bool(backup.databases) and not set(backup.databases).isdisjoint(identify_databases(store))


def identify_databases(store: Store) -> tuple[str, ...]:
    """Return the identities of the databases of a store, as far as they can be read."""
    databases = [each for each in list_stores(store) if each.location.startswith(dsn.SCHEMES)]
    if not databases:
        return ()
    from everthread.stores.postgres.store import PostgresStore  # here, because its driver is not always installed

    identities = (each.identify_database() for each in databases if isinstance(each, PostgresStore))
    return tuple(filter(None, identities))


def _identify(location: str) -> str | tuple[str, str]:
    """Return a folder without links, or a database by its servers and its name."""
    return dsn.identify(location) if location.startswith(dsn.SCHEMES) else os.path.realpath(location)


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
            manifest = read_manifest(folder)
            originals = [Path(place) / file_name(bank) for place in _split_places(manifest.store)]
            return not is_own(store, manifest) and any(path.is_absolute() and path.exists() for path in originals)
    except EverthreadError:  # reported when it is to be changed
        return False


def parse(value: JSONValue | None) -> list[KeptBackup]:
    """Parse the setting; entries of another form are left out."""
    rows = value if isinstance(value, list) else []
    fields = [row for row in rows if isinstance(row, list) and len(row) in (2, 3)]
    return [KeptBackup(str(path), str(number), bool(rest)) for path, number, *rest in fields]


def _format(kept: Iterable[KeptBackup]) -> JSONValue:
    return [[each.path, each.id, *([True] if each.is_pending else [])] for each in kept]


def record(store: Store, bank: str, place: Path, kept: Iterable[KeptBackup]) -> None:
    """Record which backups at a place hold a bank; those at other places stay recorded."""
    holding = list(kept)

    def change(value: JSONValue | None) -> JSONValue:
        ids = {each.id for each in holding}
        known = parse(value)
        others = [each for each in known if Path(each.path).parent != place and each.id not in ids]
        pending = {each.id for each in known if each.is_pending}  # another process may have marked it just now
        return _format([*others, *(each._replace(is_pending=each.id in pending) for each in holding)])

    if store.exists(bank):
        store.update_setting(bank, SETTING_BACKUPS, change)


def check_recordable(store: Store, bank: str) -> None:
    """Check that a bank can record its backups. Raises EverthreadError if it can't be written."""
    store.update_setting(bank, SETTING_BACKUPS, lambda value: value)


def forget(store: Store, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
    """Delete lines, a session, the lines of a speaker or a bank, also from the backups that hold them.

    The arguments and errors are those of `stores.base.LineStore.forget`. The receipt names the backups that could not
    be reached, and counts the others.
    """
    if scope == "bank":
        return _forget_bank(store, bank, at)
    _mark(store, bank, [each.path for each in read(store, bank)])
    try:
        receipt = store.forget(bank, scope, name, at)
    except ForgettingUnfinished as error:
        if error.receipt is not None:
            _clear_all(store, bank, [error.receipt])
        raise error.to_public() from error
    kept, failed = _clear_all(store, bank, [receipt])
    return replace(receipt, backups=failed, cleared_backups=len(kept) - len(failed))


def _forget_bank(store: Store, bank: str, at: datetime) -> Receipt:
    """Forget a bank, first in the backups: their list is in the bank, which is there until that is done."""

    def change(copy: SQLiteStore) -> None:
        copy.forget(bank, "bank", None, at)

    if isinstance(store, PlacedStore):
        store.discard_arrivals(bank)  # nothing is forgotten if a place can't be asked
    _change_all(store, read(store, bank), bank, change, None)
    kept = read(store, bank)  # with those that were made meanwhile
    try:
        receipt = store.forget(bank, "bank", None, at)
    except ForgettingUnfinished as error:
        _change_all(store, kept, bank, change, _REMEDY)
        raise error.to_public() from error
    failed = _change_all(store, kept, bank, change, _REMEDY)
    return replace(receipt, backups=failed, cleared_backups=len(kept) - len(failed))


def finish(store: Store, bank: str, setting: JSONValue | None) -> None:
    """Forget in marked backups of a bank what a process that was killed, or could not reach them, has left there.

    Args:
        store: the store of the bank.
        bank: its id.
        setting: the list of its backups.
    """
    try:
        if any(each.is_pending for each in parse(setting)):
            _clear(store, bank, [each for each in read(store, bank) if each.is_pending], (), None)
    except EverthreadError as error:
        log.warning("backups of a bank may still hold what was forgotten: %s", error)  # which names the bank


def find_pending(store: Store, bank: str) -> list[str]:
    """Return the folders of the backups that still hold something forgotten, or may, as they can't be reached."""
    later = _read_receipts(store, bank)
    return [each.path for each in read(store, bank) if _is_pending(each, bank, later)]


def _is_pending(backup: KeptBackup, bank: str, later: Collection[Receipt] | None) -> bool:
    if later is None:
        return backup.is_pending
    folder = Path(backup.path)
    try:
        with map_errors("", folder):
            file = read_manifest(folder).banks.get(bank)
            known = receipts.read(folder, bank)
            return file is not None and (file.changing or bool(select_missing_receipts(later, known)))
    except EverthreadError:
        return backup.is_pending


def clear(folder: Path, bank: str, later: Collection[Receipt]) -> None:
    """Forget in a backup what was forgotten in a bank after it was made. The caller has locked the place.

    Args:
        folder: the backup.
        bank: the bank.
        later: the present receipts of the bank, of which the backup gets those that it lacks.

    Raises:
        EverthreadError: the backup can't be changed, or not completely.
    """
    file, known = read_manifest(folder).banks.get(bank), receipts.read(folder, bank)
    if file is not None and (file.changing or select_missing_receipts(later, known)):
        change_bank(folder, bank, partial(forget_since, bank=bank, later=later, known=known))
        receipts.write(folder, select_missing_receipts(later, receipts.read(folder, bank)))


def _clear_all(store: Store, bank: str, new: Collection[Receipt]) -> tuple[list[KeptBackup], tuple[str, ...]]:
    """Forget in all backups of a bank what was forgotten in the bank, with new receipts; see `_clear`."""
    kept = read(store, bank)  # after the receipt is stored: a backup that is made meanwhile reads receipts
    return kept, _clear(store, bank, kept, new, _REMEDY)


def _clear(
    store: Store, bank: str, kept: Collection[KeptBackup], new: Collection[Receipt], remedy: str | None
) -> tuple[str, ...]:
    stored = _read_receipts(store, bank) if kept else []
    later = list(dict.fromkeys([*(stored or ()), *new]))
    failed = _for_each(store, bank, kept, lambda folder: clear(folder, bank, later), remedy)
    if stored is not None:  # otherwise what they name may be left
        _mark(store, bank, [each.path for each in kept if each.path not in failed], is_pending=False)
    return failed


def _read_receipts(store: Store, bank: str) -> list[Receipt] | None:
    """Return the receipts of a bank; None if they can't be read, which is logged."""
    try:
        return store.receipts(bank)
    except StoreUnavailable as error:
        log.warning("%s", error)
        return None


def _mark(store: Store, bank: str, paths: Collection[str], is_pending: bool = True) -> None:
    """Mark backups as those in which something may have to be forgotten, or as finished."""

    def change(value: JSONValue | None) -> JSONValue:
        return _format(each._replace(is_pending=is_pending) if each.path in paths else each for each in parse(value))

    if paths and store.exists(bank):
        store.update_setting(bank, SETTING_BACKUPS, change)


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
        raise error.to_public() from error
    if result:
        _change_all(store, read(store, bank), bank, change, remedy)
    return result


def _change_all(
    store: Store, kept: Iterable[KeptBackup], bank: str, change: Callable[[SQLiteStore], object], remedy: str | None
) -> tuple[str, ...]:
    """Change a bank in backups; see `_for_each`."""
    return _for_each(store, bank, kept, lambda folder: change_bank(folder, bank, change), remedy)


def _for_each(
    store: Store, bank: str, kept: Iterable[KeptBackup], change: Callable[[Path], None], remedy: str | None
) -> tuple[str, ...]:
    """Change backups; return the folders of those that could not be changed.

    Args:
        store: the store of the bank.
        bank: its id.
        kept: the backups.
        change: changes a backup, given by its folder, whose place is locked.
        remedy: logged for each that could not be changed, with {place} for the folder of its place; None: not logged.
    """
    failed: list[str] = []
    for backup in kept:
        folder = Path(backup.path)
        try:
            with map_errors("", folder), folder_lock(folder.parent, exclusive=True):
                if _is_removed(store, bank, backup):
                    continue
                if not folder.exists():
                    raise NotFound(f"{folder} is missing: it was removed, or its disk is not connected")
                manifest = read_manifest(folder)
                if manifest.id != backup.id:
                    raise NotFound(f"{folder} is another backup")
                if not is_own(store, manifest):
                    what = f"{folder} was made of {manifest.store}, not of {store.location}"
                    raise NotFound(what, remedy="remove that backup when you don't need it any more")
                change(folder)
        except EverthreadError as error:
            failed.append(backup.path)
            if remedy is not None:
                what = "" if error.remedy else f"; {remedy.format(place=folder.parent)}"
                log.warning("a backup may still hold what was forgotten (%s)%s", error, what)
    return tuple(failed)


def _is_removed(store: Store, bank: str, backup: KeptBackup) -> bool:
    """Return whether a newer backup has replaced one since the list of the bank was read.

    The list is changed before the folder is removed. A folder that is missing for another reason stays in it.
    """
    is_missing = not Path(backup.path).exists() and store.exists(bank)
    return is_missing and backup.id not in {each.id for each in _read_all(store, bank)}
