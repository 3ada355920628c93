"""The folder of one backup: files of banks in SQLite, their receipts, and a manifest that describes them.

A backup is a folder of banks like any other, so that a store can open it. `backup.json` has the size and the SHA-256 of
each file. Backups are in the folder of a place, which is locked while one is changed:

    PLACE/2026-11-28T202215Z/backup.json
                             receipts.jsonl
                             alice.bank
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import file_digest
from pathlib import Path

from everthread.common.atomic_write import write_atomically
from everthread.common.installation import upgrade_command
from everthread.errors import BankDamaged, BankTooNew, NotFound
from everthread.stores.sqlite import receipts
from everthread.stores.sqlite.bank_file import create_private, file_name, folder_lock, sync_folder
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import Receipt

MANIFEST = "backup.json"
_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{6}Z(-[0-9]{1,9})?")
FORMAT = 1  # of the manifest; a later one may have files that this version of Everthread would lose


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup.

    Attributes:
        file: its name.
        bytes: its size.
        sha256: of its content.
        bank: the id of its bank; None for a file of the server.
        lines: live lines of the bank.
        retracted: its retracted lines.
        units: its live units.
        last_seq: the last number that the bank has assigned to a line.
        changing: whether lines are being forgotten in it. The process was killed if this stays.
    """

    file: str
    bytes: int
    sha256: str
    bank: str | None = None
    lines: int = 0
    retracted: int = 0
    units: int = 0
    last_seq: int = 0
    changing: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup.

    Attributes:
        id: a random text, by which the backup is recognised.
        taken_at: when it was begun.
        version: of Everthread that wrote it.
        store: the folder or the database of the banks, without a password.
        files: its files.
        databases: the identities of the databases of the banks, as `PostgresStore.identify_database` returns them.
    """

    id: str
    taken_at: datetime
    version: str
    store: str
    files: tuple[BackupFile, ...]
    databases: tuple[str, ...] = ()

    @property
    def banks(self) -> dict[str, BackupFile]:
        """The files of banks, by id."""
        return {each.bank: each for each in self.files if each.bank is not None}

    def with_file(self, name: str, file: BackupFile | None) -> Manifest:
        """Return the manifest with another description of a file, or without the file."""
        others = [each for each in self.files if each.file != name]
        return replace(
            self, files=tuple(others if file is None else sorted([*others, file], key=lambda each: each.file))
        )


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        NotFound: the folder has none.
        BankTooNew: a later version of Everthread wrote it.
        BankDamaged: it can't be parsed.
        StoreUnavailable: it can't be read.
    """
    path = folder / MANIFEST
    try:
        with map_errors("", path):
            content = path.read_bytes() if path.exists() else None
        if content is None:
            raise NotFound(
                f"{folder} has no {MANIFEST}: it is damaged, or not a folder that `everthread backup` wrote; use "
                "another backup"
            )
        fields = json.loads(content)
        if fields.pop("everthread_backup") > FORMAT:
            raise BankTooNew(
                f"{folder} was written by a later version of Everthread; upgrade with: {upgrade_command()}"
            )
        files = tuple(BackupFile(**each) for each in fields.pop("files"))
        databases = tuple(fields.pop("databases", ()))
        taken_at = datetime.fromisoformat(fields.pop("taken_at"))
        return Manifest(**fields, taken_at=taken_at, files=files, databases=databases)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BankDamaged(
            f"{path} is damaged: it is not a list of the files of a backup; use another backup"
        ) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a backup. Raises StoreUnavailable."""
    fields = {"everthread_backup": FORMAT, **asdict(manifest), "taken_at": manifest.taken_at.isoformat()}
    create_private(folder / MANIFEST)  # its mode is kept
    write_atomically(folder / MANIFEST, (json.dumps(fields, indent=1, ensure_ascii=False) + "\n").encode())


def describe_file(path: Path) -> BackupFile:
    """Measure a file of a backup."""
    with map_errors("", path), path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
        return BackupFile(path.name, path.stat().st_size, digest)


def describe_bank(store: SQLiteStore, bank: str) -> BackupFile:
    """Count the contents of a bank, close the store, and measure the bank's file."""
    stats, last_seq = store.stats(bank, ""), store.corpus_stats(bank).last_seq
    store.close()
    file, units = describe_file(store.folder / file_name(bank)), sum(stats.units.values())
    return replace(file, bank=bank, lines=stats.lines, retracted=stats.retracted, units=units, last_seq=last_seq)


def check_file(folder: Path, file: BackupFile) -> None:
    """Check that a file is as it was written.

    Raises:
        BankDamaged: it differs, or is missing.
        StoreUnavailable: it can't be read.
    """
    path = folder / file.file
    if file.changing:
        place = folder.parent
        raise BankDamaged(f"{path}: forgetting lines in it was interrupted; finish it with: everthread backup {place}")
    if not path.is_file():
        raise BankDamaged(f"{path} is missing; use another backup")
    found = describe_file(path)
    if (found.bytes, found.sha256) != (file.bytes, file.sha256):
        raise BankDamaged(
            f"{path} is damaged: its SHA-256 is not that of the file that was written ({found.bytes:,} bytes, "
            f"{file.bytes:,} expected); use another backup"
        )


def check_now(folder: Path, name: str) -> None:
    """Check one file as `check_file` does, while nothing is forgotten in it; a file without a description is sound."""
    with folder_lock(folder.parent):
        for file in read_manifest(folder).files:
            if file.file == name:
                check_file(folder, file)


def list_backups(place: Path) -> list[Path]:
    """Return the folders of the backups at a place, the earliest first; those that are damaged as well.

    Raises:
        StoreUnavailable: the place can't be read.
    """
    with map_errors("", place):
        found = [place / name for name in os.listdir(place)] if place.exists() else []
        return sorted(filter(is_backup, found), key=split_name)


def is_backup(folder: Path) -> bool:
    """Return whether a folder is a backup, by its manifest or, without one, by its name."""
    is_named = _NAME.fullmatch(folder.name) is not None and folder.is_dir()
    if is_named or folder.name.startswith("."):
        return is_named
    try:
        return (folder / MANIFEST).exists()
    except PermissionError:  # of another user, such as lost+found on a disk
        return False


def split_name(folder: Path) -> tuple[str, int]:
    """Return the time in a backup's name, and which of that second it is, by which backups are ordered."""
    time, _, number = folder.name.partition("Z-")
    return (f"{time}Z", int(number)) if number.isdecimal() else (folder.name, 1)


def change_bank(folder: Path, bank: str, change: Callable[[SQLiteStore], object]) -> None:
    """Change a bank of a backup, and its description. The caller has locked the place.

    Args:
        folder: the backup.
        bank: the bank; nothing is done if the backup doesn't have it.
        change: changes it; may raise NotFound if it has nothing of that kind.

    Raises:
        EverthreadError: it can't be changed, or not completely.
    """
    manifest = read_manifest(folder)
    if (file := manifest.banks.get(bank)) is None:
        return
    write_manifest(folder, manifest.with_file(file.file, replace(file, changing=True)))
    with closing(SQLiteStore(folder)) as store:
        with suppress(NotFound):
            change(store)
        changed = describe_bank(store, bank) if store.exists(bank) else None
    with map_errors("", folder):
        sync_folder(folder)
    write_manifest(folder, manifest.with_file(file.file, changed))


def forget_since(store: SQLiteStore, bank: str, later: Iterable[Receipt], known: Collection[Receipt]) -> None:
    """Forget in a copy of a bank what was forgotten in the bank after it was copied.

    Args:
        store: the store of the copy.
        bank: the bank.
        later: the present receipts of the bank.
        known: its receipts when it was copied.
    """
    new = [receipt for receipt in later if receipt not in known]
    at = max((receipt.forgotten_at for receipt in new), default=None)
    seqs = sorted({seq for receipt in new for first, last in receipt.seqs for seq in range(first, last + 1)})
    if at is not None and any(receipt.scope == "bank" for receipt in new):
        store.forget(bank, "bank", None, at)
    elif at is not None and seqs:
        with suppress(NotFound):
            store.forget(bank, "line", seqs, at)


def read_receipts(folder: Path) -> frozenset[Receipt]:
    """Return the receipts that a backup has. Raises StoreUnavailable."""
    return frozenset(receipts.read_all(folder))
