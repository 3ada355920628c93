"""Forgets lines or a whole bank: the deletion, its receipt, and the bytes.

A process may be killed at any time: what was forgotten has a receipt all the same, and no byte of it is left once the
bank or the folder is opened again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from everthread.errors import StoreUnavailable
from everthread.stores.arrays import to_ranges
from everthread.stores.base import Scope, ScopeName
from everthread.stores.errors import ForgettingUnfinished
from everthread.stores.sqlite import line_removal, receipts
from everthread.stores.sqlite import rows as bank_rows
from everthread.stores.sqlite.bank_file import ERASE_PENDING, BankFile
from everthread.types import Receipt


def delete(file: BankFile, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
    """Delete a scope of a bank, and return the receipt, which `finish` writes."""

    def record(seqs: Sequence[int] | None) -> Receipt:
        receipt = _build_receipt(file, "bank", seqs or [], at)
        receipts.put_beside(file.path, receipt)
        return receipt

    if scope == "bank":
        return file.unlink(bank_rows.all_seqs, record)
    with file.write_transaction() as db:
        receipt = _build_receipt(file, scope, line_removal.forget(db, file.bank, scope, name), at)
        receipts.put(db, receipt)
        db.execute(f"PRAGMA user_version = {ERASE_PENDING}")
    return receipt


def finish(file: BankFile, receipt: Receipt) -> None:
    """Write the receipt of what was deleted, and erase its bytes unless the file is gone.

    Raises:
        ForgettingUnfinished: one of these failed. The next process that opens the bank tries it again.
    """
    try:
        if receipt.scope == "bank":
            receipts.append(file.path.parent, receipt)
            receipts.drop_beside(file.path)
        else:
            _finish_lines(file, receipt)
    except StoreUnavailable as error:
        raise ForgettingUnfinished(str(error), file.bank, receipt) from error


def _finish_lines(file: BankFile, receipt: Receipt) -> None:
    try:
        receipts.append(file.path.parent, receipt)
    except StoreUnavailable:
        file.erase()
        raise
    file.erase(receipts.drop)


def _build_receipt(file: BankFile, scope: Scope, seqs: Sequence[int], at: datetime) -> Receipt:
    return Receipt(sha256(file.bank.encode()).hexdigest(), scope, to_ranges(seqs), len(seqs), at)
