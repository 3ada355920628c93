"""Makes backups of banks in use, verifies them, forgets in them what was forgotten since, and removes old ones.

A backup is written into a folder with a temporary name, which is renamed once all files are on the disk and compared.
A file is copied by SQLite's own backup; a bank on Postgres is read on one snapshot and written into the same kind of
file. Lines that are forgotten while a backup is made are not in it: the banks record the new backup before it gets its
name, and their receipts are read after that.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path

from everthread.bank import kept_backups
from everthread.bank.backup_folder import (
    BackupFile,
    Manifest,
    check_now,
    describe_bank,
    describe_file,
    is_backup,
    list_backups,
    read_manifest,
    split_name,
    write_manifest,
)
from everthread.bank.kept_backups import KeptBackup
from everthread.common.installation import installed_version
from everthread.common.staging import PREFIX, staging_folder
from everthread.errors import BadInput, BankDamaged, EverthreadError, NotFound, StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.placed.store import PlacedStore, call_store, list_all_banks, list_stores, main_store
from everthread.stores.sqlite import receipts
from everthread.stores.sqlite.bank_file import file_name, folder_lock, sync_folder
from everthread.stores.sqlite.copying import copy_database
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.transfer.bank_contents import copy_contents, summarize
from everthread.types import Receipt, now

log = logging.getLogger("everthread")

SERVER_FILE = "server.sqlite"  # keys, accounts and digests of a server, beside its banks
NAME_FORMAT = "%Y-%m-%dT%H%M%SZ"  # sorts by time

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup.

    Attributes:
        folder: where it is.
        manifest: what it has.
        removed: older backups that were removed.
        failed: the errors of banks that are not in it, by id.
    """

    folder: Path
    manifest: Manifest
    removed: tuple[Path, ...] = ()
    failed: Mapping[str, EverthreadError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retention:
    """Which backups at a place are kept.

    Attributes:
        number: as many of the newest; None: all.
        days: those of as many days; None: all.
    """

    number: int | None = None
    days: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("keep", self.number), ("keep-days", self.days)):
            if value is not None and value < 1:
                raise BadInput(f"invalid number of backups: got {name} {value}, expected at least 1")

    def select_old(self, taken: Mapping[Path, datetime]) -> list[Path]:
        """Return the backups to remove, given the times of all, the earliest first; the last one stays."""
        folders, latest = list(taken), max(taken.values())
        too_many = folders[: -self.number] if self.number is not None else []
        days = timedelta.max if self.days is None else timedelta(self.days)
        return [each for each in folders[:-1] if each in too_many or latest - taken[each] > days]


def back_up(
    store: Store,
    place: Path,
    banks: Sequence[str] = (),
    retention: Retention = Retention(),
    progress: Progress | None = None,
) -> Backup:
    """Make a backup of banks, which may be in use, and verify it. Banks that can't be backed up are left out.

    Before, what was forgotten in the banks is taken out of the earlier backups at the place.

    Args:
        store: the store of the banks.
        place: a folder for backups, which is made if it is missing.
        banks: their ids; empty for all, with the file of a server.
        retention: which earlier backups of this store with no other banks are kept.
        progress: called with the id of each bank before it is copied.

    Raises:
        BadInput: the place is the folder of the banks.
        NotFound: there is no such bank, or none at all.
        BankDamaged, StoreUnavailable: none of the banks can be read, or the place can't be written; no backup is made.
    """
    names = _check_banks(store, banks)
    place = place.expanduser().absolute()
    if os.path.realpath(place) in (each.location for each in list_stores(store)):
        raise BadInput(f"{place} is the folder of the banks; name another one for their backups")
    with map_errors("", place):
        _make_place(place)
        place = place.resolve()
        with folder_lock(place, exclusive=True):
            _forget_in(store, read_manifests(place))
        with staging_folder(place) as staging:
            server = None if banks else find_server_file(store)
            manifest, failed = _write_files(store, staging, names, server, progress)
            _flush(staging)
            with folder_lock(place, exclusive=True):
                backup = _publish(store, staging, place, manifest, retention)
                _forget_in(store, {backup.folder: manifest})
    return replace(backup, manifest=read_manifest(backup.folder), failed=failed)


def _make_place(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreUnavailable(f"{place} is a file, not a folder; name a folder for the backups") from error


def _check_banks(store: Store, banks: Sequence[str]) -> list[str]:
    names = sorted(set(banks)) or list_all_banks(store)
    if missing := [name for name in names if not store.exists(name)]:
        raise NotFound(f"there is no bank {missing[0]!r} in {store.location}; no backup was made")
    if not names:
        raise NotFound(f"{store.location} has no banks; there is nothing to back up")
    return names


def _write_files(
    store: Store, staging: Path, names: Sequence[str], server: Path | None, progress: Progress | None
) -> tuple[Manifest, dict[str, EverthreadError]]:
    """Write the files of a backup into a folder; return the errors of banks that are left out as well, by id.

    Raises:
        EverthreadError: all of them are; it is the first one's.
    """
    taken_at, files, failed = now(), list[BackupFile](), dict[str, EverthreadError]()
    receipts.write(
        staging, chain(*_read_receipts(store, names).values())
    )  # first: later ones are applied to the copies
    for name in names:
        if progress is not None:
            progress(name)
        try:
            kept_backups.check_recordable(store, name)
            files.append(call_store(store, name, partial(_copy_bank, bank=name, staging=staging)))
        except EverthreadError as error:
            failed[name] = error
            for path in staging.glob(f"{file_name(name)}*"):
                path.unlink()
    if not files:
        raise next(iter(failed.values()))
    if server is not None:
        with closing(sqlite3.connect(server)) as db:
            copy_database(db, staging / SERVER_FILE)
        files.append(describe_file(staging / SERVER_FILE))
    databases = kept_backups.identify_databases(store)
    manifest = Manifest(secrets.token_hex(8), taken_at, installed_version(), store.location, tuple(files), databases)
    write_manifest(staging, manifest)
    return manifest, failed


def find_server_file(store: Store) -> Path | None:
    """Return the file of a server, if it is in a folder of banks that can be read."""
    try:
        main = main_store(store)
    except StoreUnavailable as error:  # banks of other places are backed up
        log.warning("keys and accounts of a server are not backed up: %s", error)
        return None
    server = main.folder / SERVER_FILE if isinstance(main, SQLiteStore) else None
    return server if server is not None and server.exists() else None


def _copy_bank(store: Store, bank: str, staging: Path) -> BackupFile:
    """Copy a bank as it is at one moment, and check the copy."""
    with closing(SQLiteStore(staging)) as copy:
        if isinstance(store, SQLiteStore):
            store.copy_file(bank, staging / file_name(bank))
        else:
            _copy_snapshot(store, bank, copy)
        if problems := copy.check(bank):
            raise BankDamaged(f"bank {bank!r} can't be backed up: {problems[0]}")
        return describe_bank(copy, bank)


def _copy_snapshot(store: Store, bank: str, copy: SQLiteStore) -> None:
    """Copy a bank of a Postgres database into a file, and compare them."""
    from everthread.stores.postgres.pinned_store import read_snapshot
    from everthread.stores.postgres.store import PostgresStore

    assert isinstance(store, PostgresStore)
    with read_snapshot(store, bank) as snapshot:
        copy_contents(snapshot, bank, copy)
        if summarize(snapshot, bank) != summarize(copy, bank):
            raise BankDamaged(f"the copy of bank {bank!r} differs from it; check the disk, and back up again")


def _flush(folder: Path) -> None:
    """Wait until all files of a folder are on the disk."""
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    sync_folder(folder)


def _publish(store: Store, staging: Path, place: Path, manifest: Manifest, retention: Retention) -> Backup:
    """Give a backup its name, record it in its banks, and remove old ones."""
    earlier = read_manifests(place)
    manifest = _date_after(earlier, staging, manifest)
    second = f"{manifest.taken_at:{NAME_FORMAT}}"
    numbers = (number for name, number in map(split_name, place.iterdir()) if name == second)
    number = max(numbers, default=0) + 1  # a name that was removed meanwhile would be that of an earlier one
    folder = place / (second if number == 1 else f"{second}-{number}")
    found = {**earlier, folder: manifest}
    replaced = {each: found[each].taken_at for each in found if _is_replaced(store, found[each], manifest)}
    old = retention.select_old(replaced)
    kept = {each: found[each] for each in found if each not in old}
    for bank in manifest.banks:
        own = [each for each in kept if bank in kept[each].banks and _is_own(store, bank, kept[each])]
        holding = [KeptBackup(str(each), kept[each].id) for each in own]
        kept_backups.record(store, bank, place, holding)
    staging.rename(folder)
    sync_folder(place)
    for each in old:
        _remove(each)
    return Backup(folder, manifest, tuple(old))


def _is_replaced(store: Store, earlier: Manifest, manifest: Manifest) -> bool:
    """Return whether a backup has no other banks than a new one, and none of another store's."""
    if not earlier.banks:
        return kept_backups.is_same(store, earlier)
    has_others = bool(earlier.banks.keys() - manifest.banks.keys())
    return not has_others and all(_is_own(store, bank, earlier) for bank in earlier.banks)


def _date_after(earlier: Mapping[Path, Manifest], staging: Path, manifest: Manifest) -> Manifest:
    """Return the manifest with a time after those of earlier backups, so that the last one is restored.

    They have later times if the clock was set back.
    """
    latest = max((each.taken_at for each in earlier.values()), default=manifest.taken_at)
    if manifest.taken_at >= latest:
        return manifest
    log.warning("the clock was set back since the last backup: this one is dated a second after it")
    manifest = replace(manifest, taken_at=latest + timedelta(seconds=1))
    write_manifest(staging, manifest)
    return manifest


def _remove(folder: Path) -> None:
    """Remove a backup: its name first, so that a killed process leaves no half of it."""
    removed = folder.with_name(f"{PREFIX}{secrets.token_hex(8)}")
    folder.rename(removed)
    shutil.rmtree(removed)


def read_manifests(place: Path) -> dict[Path, Manifest]:
    """Read the manifests of the backups at a place, the earliest first. Unreadable ones are left out."""
    manifests: dict[Path, Manifest] = {}
    for folder in list_backups(place):
        try:
            manifests[folder] = read_manifest(folder)
        except EverthreadError as error:
            log.warning("a backup is left as it is: %s", error)
    return manifests


def _forget_in(store: Store, backups: Mapping[Path, Manifest]) -> None:
    """Take what banks have forgotten out of backups of this store. The caller has locked the place."""
    banks = {bank for manifest in backups.values() for bank in manifest.banks}
    if isinstance(store, PlacedStore):
        banks = set(filter(store.answers, banks))
    later = _read_receipts(store, banks)
    for folder, manifest in backups.items():
        for bank, file in manifest.banks.items():
            if bank in later and _is_own(store, bank, manifest):
                try:
                    kept_backups.clear(folder, bank, later[bank])
                except EverthreadError as error:
                    log.warning("%s may still hold what was forgotten: %s", folder / file.file, error)


def _is_own(store: Store, bank: str, manifest: Manifest) -> bool:
    """Return whether a backup is of a bank, and not of one of the same id in another store, such as of another machine
    that uses this place as well."""
    if kept_backups.is_same(store, manifest):
        return True
    is_recorded = any(each.id == manifest.id for each in kept_backups.read(store, bank))
    return is_recorded and kept_backups.is_own(store, manifest)


def _read_receipts(store: Store, banks: Collection[str]) -> dict[str, list[Receipt]]:
    """Return the receipts of each bank."""
    if not isinstance(store, SQLiteStore):
        return {bank: store.receipts(bank) for bank in banks}
    found: dict[str, list[Receipt]] = {}
    for receipt in receipts.read_all(store.folder):
        found.setdefault(receipt.bank, []).append(receipt)
    return {bank: found.get(sha256(bank.encode()).hexdigest(), []) for bank in banks}


def find_backup(path: Path) -> Path:
    """Return a backup, given by its folder or, for the newest one, by its place.

    Raises:
        NotFound: there is no backup.
    """
    path = path.expanduser().absolute()
    with map_errors("", path):
        if is_backup(path):
            return path
    found = list_backups(path) if path.is_dir() else []
    if not found:
        raise NotFound(f"{path} has no backup; name a folder that `everthread backup` wrote, or the folder around it")
    return found[-1]


def verify(folder: Path) -> list[str]:
    """Compare the files of a backup with its manifest; return what is wrong."""
    problems: list[str] = []
    try:
        manifest = read_manifest(folder)
    except EverthreadError as error:
        return [str(error)]
    for file in manifest.files:
        try:
            check_now(folder, file.file)
        except EverthreadError as error:
            problems.append(str(error))
    return problems
