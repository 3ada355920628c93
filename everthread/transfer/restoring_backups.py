"""Restores banks of a backup into a store, without what was forgotten since.

A copy is prepared beside the banks, and put in the place of a bank by `replaced_bank`.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from everthread.bank import kept_backups
from everthread.bank.backup_folder import (
    BackupFile,
    Manifest,
    check_file,
    check_now,
    forget_since,
    read_manifest,
    read_receipts,
)
from everthread.bank.kept_backups import KeptBackup
from everthread.common.file_owner import give_to_owner
from everthread.common.keys import SETTING_BACKUPS
from everthread.common.staging import scratch_folder, staging_folder
from everthread.errors import BadInput, BankDamaged, BankTooNew, EverthreadError, NotFound, StoreError
from everthread.stores.base import Store
from everthread.stores.placed.store import call_store, main_store
from everthread.stores.shared_rows import select_missing_receipts
from everthread.stores.sqlite.bank_file import file_name, folder_lock
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.transfer.backup import SERVER_FILE, read_manifests
from everthread.transfer.bank_contents import Summary, summarize
from everthread.transfer.replaced_bank import check_missing, hold
from everthread.types import Receipt

log = logging.getLogger("everthread")

MAX_LISTED_BANKS = 20  # in a message
SIGN_IN_TABLES = {"login_session", "pending_sign_in"}  # of the file of a server


@dataclass(frozen=True, slots=True)
class RestoredBank:
    """A bank that was restored.

    Attributes:
        bank: its id.
        summary: of its contents.
        was_there: whether it had these contents before, such as from a restore that was interrupted.
    """

    bank: str
    summary: Summary
    was_there: bool = False


def restore(
    store: Store,
    folder: Path,
    banks: Sequence[str] = (),
    new_id: str | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> list[RestoredBank]:
    """Restore banks of a backup, one after the other. May be interrupted and repeated.

    Args:
        store: the store.
        folder: the backup.
        banks: the ids of the banks; empty for all.
        new_id: the id of the restored bank, if it is not its own; for one bank.
        force: whether to replace banks that exist.
        progress: called with the id of each bank as soon as its writers wait. A line stored before that is replaced.

    Raises:
        NotFound: the backup has no such bank.
        BadInput: a bank exists with other contents, or there are several for one id. Nothing is restored. Or another
            process has created a bank in the meantime; those before it are restored, and a warning names the others.
        BankDamaged: a file is damaged.
        BankTooNew: a later version of Everthread wrote it.
        StoreError: a bank was forgotten after the backup, or the store can't be written.
    """
    folder = folder.resolve()
    files = _choose(read_manifest(folder), folder, banks)
    if new_id is not None and len(files) != 1:
        raise BadInput(f"{len(files)} banks can't be restored as {new_id!r}; name one bank of the backup")
    targets = {bank: bank if new_id is None else new_id for bank in files}
    present: dict[str, RestoredBank] = {}
    for bank, target in targets.items():
        if not force and store.exists(target):
            present.update(call_store(store, target, partial(_find_equal, store, folder, bank, target)))
        if target not in present:
            check_missing(store, target, force)
        _check_remembered(store, folder, bank, len(targets))
    for file in files.values():
        check_now(folder, file.file)
    if not banks and _find_server_target(store) is not None:
        check_now(folder, SERVER_FILE)
    restored: list[RestoredBank] = []
    for bank, target in targets.items():
        if target in present:
            restored.append(present[target])
            continue
        try:
            each = call_store(store, target, partial(_restore_bank, store, folder, bank, target, force, progress))
        except EverthreadError:
            _warn_of_rest([*targets], len(restored))
            raise
        restored.append(each)
    return restored


def _warn_of_rest(banks: Sequence[str], restored: int) -> None:
    """Log which banks are left after an error: a restore of all would have to replace the others."""
    if restored:
        left = ", ".join(banks[restored:][:MAX_LISTED_BANKS])
        log.warning(
            "%d of %d banks are restored; restore the others with --bank, so that these are not replaced: %s",
            *(restored, len(banks), left),
        )


def find_left_out(folder: Path) -> dict[str, Path]:
    """Return the banks that a backup lacks and an earlier one at its place has, with the last that has each."""
    found: dict[str, Path] = {}
    for earlier, manifest in read_manifests(folder.parent).items():
        if earlier != folder:
            found.update(dict.fromkeys(manifest.banks, earlier))
    return {bank: found[bank] for bank in sorted(found.keys() - read_manifest(folder).banks.keys())}


def restore_server_file(store: Store, folder: Path) -> bool:
    """Restore the server's keys and accounts into a folder of banks that has none; return whether there were any.

    Sign-ins are not restored: a session may have been ended since.
    """
    names = {file.file: file for file in read_manifest(folder).files}
    target = _find_server_target(store)
    if target is None or SERVER_FILE not in names:
        return False
    check_file(folder, names[SERVER_FILE])
    with _stage(main_store(store)) as staging:
        copied = _copy_private(folder / SERVER_FILE, staging / SERVER_FILE)
        with map_errors("", copied), closing(sqlite3.connect(copied)) as db, db:
            _end_sign_ins(db)
        copied.rename(target)
    return True


def _end_sign_ins(db: sqlite3.Connection) -> None:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in tables & SIGN_IN_TABLES:
        db.execute(f"DELETE FROM {table}")


def _find_server_target(store: Store) -> Path | None:
    """Return the path for the server's keys and accounts in a folder of banks without them; else None."""
    main = main_store(store)
    path = main.folder / SERVER_FILE if isinstance(main, SQLiteStore) else None
    return None if path is None or path.exists() else path


def _choose(manifest: Manifest, folder: Path, banks: Sequence[str]) -> Mapping[str, BackupFile]:
    if missing := [bank for bank in banks if bank not in manifest.banks]:
        known = ", ".join(sorted(manifest.banks)[:MAX_LISTED_BANKS])
        raise NotFound(f"the backup {folder} has no bank {missing[0]!r}; it has {known or 'none'}")
    return {bank: file for bank, file in manifest.banks.items() if not banks or bank in banks}


def _check_remembered(store: Store, folder: Path, bank: str, count: int) -> None:
    """Raise StoreError if a bank, one of `count`, was forgotten after a backup."""
    later = [each for each in store.receipts(bank) if each.scope == "bank" and each not in read_receipts(folder)]
    if later:
        rest = " Nothing was restored; restore the other banks with --bank" if count > 1 else ""
        raise StoreError(
            f"bank {bank!r} was forgotten for good at {later[-1].forgotten_at:%Y-%m-%d %H:%M:%S} UTC, after the backup "
            f"{folder}; it can't be restored.{rest}".rstrip(".")
        )


@contextmanager
def _stage(store: Store) -> Iterator[Path]:
    """Yield a folder for the file that is restored: on the file system of the banks, if they are files."""
    if isinstance(store, SQLiteStore):
        with map_errors("", store.folder), staging_folder(store.folder) as staging:
            yield staging
    else:
        with scratch_folder() as scratch:
            yield scratch


def _copy_private(source: Path, path: Path) -> Path:
    """Copy a file, flushed to the disk, and readable only by its owner: that of the folder."""
    with (
        map_errors("", path),
        source.open("rb") as content,
        os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as copy,
    ):
        give_to_owner(copy.fileno(), path.parent)
        shutil.copyfileobj(content, copy)
        copy.flush()
        os.fsync(copy.fileno())
    return path


def _restore_bank(
    store: Store,
    folder: Path,
    bank: str,
    target: str,
    force: bool,
    progress: Callable[[str], None] | None,
    place: Store,
) -> RestoredBank:
    """Restore a bank into the folder or the database in which it is, or will be."""
    with _stage(place) as staging:
        known = _copy_bank(folder, bank, staging / file_name(target))
        with hold(place, target, force) as held, closing(SQLiteStore(staging)) as staged:
            if progress is not None:
                progress(bank)
            _prepare(staged, store, held.reader, folder, bank, target, known)
            summary = summarize(staged, target)
            own = [receipt for receipt in known if receipt.bank == sha256(bank.encode()).hexdigest()]
            held.put(staged, select_missing_receipts(own, store.receipts(bank)), summary)
    return RestoredBank(target, summary)


def _find_equal(store: Store, folder: Path, bank: str, target: str, place: Store) -> dict[str, RestoredBank]:
    """Return the bank that exists, by its id, if it has the contents that a restored one would have."""
    with _stage(place) as staging:
        known = _copy_bank(folder, bank, staging / file_name(target))
        with closing(SQLiteStore(staging)) as staged, suppress(BankDamaged, BankTooNew):
            _prepare(staged, store, None, folder, bank, target, known)
            summary = summarize(place, target)
            if summary.sha256 == summarize(staged, target).sha256:
                return {target: RestoredBank(target, summary, was_there=True)}
    return {}


def _copy_bank(folder: Path, bank: str, path: Path) -> frozenset[Receipt]:
    """Copy the file of a bank out of a backup; return the receipts that the backup has. Raises BankDamaged."""
    with folder_lock(folder.parent):
        file, known = read_manifest(folder).banks[bank], read_receipts(folder)
        check_file(folder, file)
        _copy_private(folder / file.file, path)
    return known


def _prepare(
    staged: SQLiteStore,
    store: Store,
    replaced: Store | None,
    folder: Path,
    bank: str,
    target: str,
    known: Collection[Receipt],
) -> None:
    """Prepare a copy: forget in it what was forgotten since, and check it.

    A bank with its own id gives no line a number that was given after the backup: other backups have these lines.
    """
    if target != bank:
        with closing(sqlite3.connect(staged.folder / file_name(target))) as db, db:
            db.execute("UPDATE bank SET bank_id = ?", (target,))
    forget_since(staged, target, store.receipts(bank), known)
    if problems := staged.check(target):
        raise BankDamaged(f"bank {bank!r} of the backup {folder} is damaged: {problems[0]}. Use another backup")
    is_same = target == bank and kept_backups.is_same(store, read_manifest(folder))
    if not is_same:  # another bank from now on, whose lines are not those of the backups
        staged.set_setting(target, SETTING_BACKUPS, None)
    if target != bank:
        return
    manifests = {**read_manifests(folder.parent), folder: read_manifest(folder)}
    holding = {each: manifest for each, manifest in manifests.items() if bank in manifest.banks}
    last_seqs = [manifest.banks[bank].last_seq for manifest in holding.values()]
    if replaced is not None:
        with suppress(BankDamaged, BankTooNew):
            last_seqs.append(replaced.corpus_stats(bank).last_seq)
    staged.reserve_seqs(bank, max(last_seqs))
    if is_same:
        own = {each: found for each, found in holding.items() if kept_backups.is_same(store, found)}
        kept_backups.record(
            staged, bank, folder.parent, [KeptBackup(str(each), found.id) for each, found in own.items()]
        )
