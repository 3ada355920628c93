"""The file receipts.jsonl: proof of what was forgotten in the banks of a folder, without any text.

A bank has the receipt itself from the transaction that forgets until it is in the file, so that a process killed in
between doesn't lose it. That of the whole bank is meanwhile in a file beside the bank's, `alice.bank-receipt`, which is
written before the bank is deleted. It counts once the bank is missing, or new: a process that is killed before leaves
the bank as it was.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.bank_file import BANK_SUFFIX, create_private, sync_folder
from everthread.types import Receipt

log = logging.getLogger("everthread")

FILE_NAME = "receipts.jsonl"
BESIDE_SUFFIX = "-receipt"  # of the file beside a bank that is being forgotten


def put(db: sqlite3.Connection, receipt: Receipt) -> None:
    """Store a receipt in the bank, in the transaction that forgets, until it is in the file."""
    db.execute("CREATE TABLE IF NOT EXISTS unwritten_receipt (data TEXT NOT NULL)")
    db.execute("INSERT INTO unwritten_receipt VALUES (?)", (_format(receipt),))


def drop(db: sqlite3.Connection) -> None:
    """Remove the receipts from the bank, which are in the file."""
    db.execute("DROP TABLE IF EXISTS unwritten_receipt")


def put_beside(path: Path, receipt: Receipt) -> None:
    """Store the receipt of a whole bank beside the bank's file, which is deleted next.

    An error is ignored, because a bank is forgotten on a full disk, too, and makes room there for the receipt. Only a
    process that is killed at this moment then leaves none.
    """
    create_private(_beside(path))
    with suppress(OSError):
        with _beside(path).open("wb") as file:
            file.write(_format(receipt).encode())
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)


def drop_beside(path: Path) -> None:
    """Remove the receipt beside a bank's file, which is in the file of receipts; otherwise the next process does so."""
    with suppress(OSError):
        _beside(path).unlink(missing_ok=True)


def write_all_missing(folder: Path) -> None:
    """Call `write_missing` for all banks that killed processes have deleted."""
    with suppress(OSError):  # the folder can't be read, which its next use reports
        for name in os.listdir(folder):
            if name.endswith(BANK_SUFFIX + BESIDE_SUFFIX):
                write_missing(folder / name.removesuffix(BESIDE_SUFFIX))


def write_missing(path: Path) -> None:
    """Append the receipt of a bank that a killed process has deleted. If the file can't be written, it stays beside it.

    Args:
        path: the bank's file; nothing is done if it exists.
    """
    try:
        if path.exists() or not _beside(path).exists():
            return
        if (receipt := _read_beside(path)) is not None:  # otherwise the disk was full
            write(path.parent, [receipt])
        drop_beside(path)
    except OSError as error:
        _warn(path.parent, error)


def settle(db: sqlite3.Connection, path: Path, *, is_new: bool) -> None:
    """Append the receipts to the file that killed processes have left in the bank or beside it.

    If the file can't be written, they stay in the bank.

    Args:
        db: a connection to the bank, in a transaction.
        path: the bank's file.
        is_new: whether the transaction creates the bank. Otherwise that of the whole bank is dropped: the process was
            killed before it deleted the bank.
    """
    has_beside = _beside(path).exists()
    if has_beside and is_new and (receipt := _read_beside(path)) is not None:
        put(db, receipt)
    _write_put(db, path.parent)
    if has_beside:
        drop_beside(path)


def _write_put(db: sqlite3.Connection, folder: Path) -> None:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'unwritten_receipt'").fetchone():
        return
    stored = (_parse(data) for (data,) in db.execute("SELECT data FROM unwritten_receipt"))
    try:
        write(folder, filter(None, stored))
        drop(db)
    except OSError as error:
        _warn(folder, error)


def _warn(folder: Path, error: OSError) -> None:
    log.warning("a receipt can't be written to %s: %s; make the file writable", folder / FILE_NAME, error.strerror)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + BESIDE_SUFFIX)


def _read_beside(path: Path) -> Receipt | None:
    try:
        return _parse(_beside(path).read_bytes())
    except FileNotFoundError:
        return None


def append(folder: Path, receipt: Receipt) -> None:
    """Append a receipt; it is durable when this returns. Raises StoreUnavailable."""
    path = folder / FILE_NAME
    try:
        write(folder, [receipt])
    except OSError as error:
        raise StoreUnavailable(
            f"the lines are forgotten, but the receipt could not be written to {path}: "
            f"{error.strerror}. Make the file writable; don't forget the lines again"
        ) from error


def write(folder: Path, receipts: Iterable[Receipt]) -> None:
    """Append receipts, as they were stored elsewhere. Raises OSError."""
    rows = "".join(map(_format, receipts)).encode()
    create_private(folder / FILE_NAME)
    with (folder / FILE_NAME).open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a process was killed, or the disk was full, in the middle of a row
                rows = b"\n" + rows
        file.write(rows)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)  # it may be new


def _format(receipt: Receipt) -> str:
    row = {name: getattr(receipt, name) for name in ("bank", "scope", "seqs", "lines")}
    return json.dumps({**row, "forgotten_at": receipt.forgotten_at.isoformat()}) + "\n"


def read(folder: Path, bank: str) -> list[Receipt]:
    """Return the receipts of a bank, the earliest first; rows that were not written completely are skipped.

    Raises:
        StoreUnavailable: the file can't be read.
    """
    digest = sha256(bank.encode()).hexdigest()
    return [receipt for receipt in read_all(folder) if receipt.bank == digest]


def read_all(folder: Path) -> list[Receipt]:
    """Return the receipts of all banks; see `read`. A receipt that a killed process has written is there twice."""
    path = folder / FILE_NAME
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnavailable(f"cannot read {path}: {error}; make the file readable") from error
    return list(dict.fromkeys(filter(None, map(_parse, rows))))


def _parse(row: str | bytes) -> Receipt | None:
    try:
        value = json.loads(row)
        seqs = tuple((int(first), int(last)) for first, last in value["seqs"])
        at = datetime.fromisoformat(value["forgotten_at"])
        return Receipt(value["bank"], value["scope"], seqs, int(value["lines"]), at)
    except (ValueError, KeyError, TypeError):
        return None
