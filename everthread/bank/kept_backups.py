"""The backups that hold a bank, which a setting of the bank lists: what is forgotten is taken out of them as well.

A backup that can't be reached, such as one on a disk that is not connected, holds it until `everthread backup` writes
to its place again, which first forgets there what the receipts of the banks name.
"""

from __future__ import annotations

import logging
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
from everthread.stores.sqlite.bank_file import folder_lock
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
    """Return the backups that hold a bank; none for a bank that doesn't exist or can't be read."""
    try:
        return parse(store.settings(bank).get(SETTING_BACKUPS)) if store.exists(bank) else []
    except (BankDamaged, BankTooNew):
        return []


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
    failed = _change_all(kept, bank, change, "`everthread backup {place}` takes it out")
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
        _change_all(read(store, bank), bank, change, remedy)
        raise StoreUnavailable(str(error)) from error
    if result:
        _change_all(read(store, bank), bank, change, remedy)
    return result


def _change_all(
    kept: Iterable[KeptBackup], bank: str, change: Callable[[SQLiteStore], object], remedy: str
) -> tuple[str, ...]:
    """Change a bank in backups; return the folders of those that could not be changed, and log the remedy for each, in
    which {place} is the folder of the backup's place."""
    failed: list[str] = []
    for backup in kept:
        folder = Path(backup.path)
        try:
            with map_errors("", folder), folder_lock(folder.parent, exclusive=True):
                if read_manifest(folder).id != backup.id:
                    raise NotFound(f"{folder} is another backup")
                change_bank(folder, bank, change)
        except EverthreadError as error:
            failed.append(backup.path)
            what = remedy.format(place=folder.parent)
            log.warning("a backup may still hold what was forgotten (%s); %s", error, what)
    return tuple(failed)
