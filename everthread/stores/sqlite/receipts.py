"""The file receipts.jsonl: proof of what was forgotten in the banks of a folder, without any text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.bank_file import sync_folder
from everthread.types import Receipt

FILE_NAME = "receipts.jsonl"


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
    """Return the receipts of all banks; see `read`."""
    path = folder / FILE_NAME
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnavailable(f"cannot read {path}: {error}; make the file readable") from error
    return [receipt for row in rows if (receipt := _parse(row)) is not None]


def _parse(row: str) -> Receipt | None:
    try:
        value = json.loads(row)
        seqs = tuple((int(first), int(last)) for first, last in value["seqs"])
        at = datetime.fromisoformat(value["forgotten_at"])
        return Receipt(value["bank"], value["scope"], seqs, int(value["lines"]), at)
    except (ValueError, KeyError, TypeError):
        return None
