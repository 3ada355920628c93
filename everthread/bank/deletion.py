"""Checks the scope of a deletion, and passes it to the store: for lines, with all of their versions.

`Store.forget` deletes, in one transaction, everything that depends on the deleted lines. The module `line_removal` of
`stores.sqlite` and of `stores.postgres` does so:

- `forget` deletes the lines, the sessions and speakers that have no other lines, and the relevance buffers and queued
  jobs of these sessions.
- `remove_from_indexes` deletes the postings and the vectors of the lines, and subtracts them from the bank's counts.
- `units.forget`, called by `forget`, deletes the units that derive from the lines, with their vectors.
- `recall_records.remove_lines`, called by `forget`, takes the lines, and units that derive from them, out of the
  records of what was recalled for replies.
- `_forget_names`, called by `forget`, removes the names that no line has any more from the setting with the names under
  which the person has spoken.
- `update_summaries_and_pins` removes the pins of the lines from the setting that lists them, and queues new summaries
  of the remaining lines. All other settings stay.

A bank is deleted with all its settings: in SQLite with its file, by `bank_file.BankFile.unlink`, in Postgres by foreign
keys. Finally the bytes of deleted rows are overwritten: in SQLite by `bank_file.BankFile.erase`, in Postgres by
`vacuum.Vacuum`. `kept_backups.forget` does the same in the backups that hold the bank. `Memory.forget` then lets the
recipe update its units.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from everthread.bank import kept_backups, validation
from everthread.bank.line_versions import find_newer_versions, find_versions, read_recorded, read_versions
from everthread.bank.sharing import stop_sharing
from everthread.errors import BadQuery, NotFound
from everthread.stores.arrays import to_ranges
from everthread.stores.base import Scope, ScopeName, Store
from everthread.types import Filter, Line, Receipt, now


def parse_scope(
    bank: str, seq: int | Collection[int] | None, session: str | None, speaker: str | None, everything: bool
) -> tuple[Scope, ScopeName]:
    """Return the scope and the name for `Store.forget` from the arguments of `Memory.forget`.

    Raises:
        BadQuery: not exactly one argument is given, or its value is invalid.
        NotFound: no line can have this number.
    """
    if not isinstance(everything, bool):
        raise BadQuery(f"everything must be True or False, got {everything!r}")
    if sum(argument is not None for argument in (seq, session, speaker)) + everything != 1:
        raise BadQuery("forget takes exactly one of seq, session, speaker, everything=True")
    if seq is not None:
        return "line", _check_seqs(seq, bank)
    if session is not None:
        return "session", validation.check_filter_name(session, "session")
    if speaker is not None:
        return "speaker", validation.check_filter_name(speaker, "speaker")
    return "bank", None


def _check_seqs(seq: Any, bank: str) -> list[int]:
    """Check the number of a line, or those of several. Raises BadQuery and NotFound."""
    if isinstance(seq, Collection) and not isinstance(seq, str):
        return sorted(validation.check_seqs(seq, "seq"))
    return [validation.check_seq(seq, bank)]


def find_lines(store: Store, bank: str, scope: Scope, name: ScopeName) -> list[Line]:
    """Return what `forget` would delete of a line, a session or a speaker: also retracted lines and other versions."""
    if name is not None and not isinstance(name, str):
        return read_recorded(store, bank, find_versions(store, bank, name))
    where = Filter(session=name) if scope == "session" else Filter(speaker=name)
    return list(store.lines(bank, where, include_retracted=True, include_wordless=True))


def has_forgotten_since(store: Store, banks: Collection[str], at: datetime) -> bool:
    """Return whether any process has forgotten something in these banks since a moment."""
    return any(receipt.forgotten_at >= at for bank in banks for receipt in store.receipts(bank))


def forget(store: Store, bank: str, scope: Scope, name: ScopeName) -> Receipt:
    """Delete a scope. A line is deleted with its copies, the lines that it corrects, and its corrections. Other banks
    stop sharing a deleted bank, and backups that hold the bank lose the lines as well.

    Raises:
        NotFound: the bank has nothing of this name.
    """
    if name is not None and not isinstance(name, str):
        return _forget_lines(store, bank, name)
    if scope == "bank":
        stop_sharing(store, bank)
    return kept_backups.forget(store, bank, scope, name, now())


def _forget_lines(store: Store, bank: str, seqs: Collection[int]) -> Receipt:
    """Delete lines with all of their versions, also those that others store meanwhile.

    Once a line is deleted, it can't be corrected any more.
    """
    last_seq = store.corpus_stats(bank).last_seq
    versions = read_versions(store, bank, seqs)
    receipt = kept_backups.forget(store, bank, "line", sorted({*seqs, *versions}), now())
    while store.exists(bank) and (newer := find_newer_versions(store, bank, versions, last_seq)):
        versions |= newer
        with suppress(NotFound):  # deleted by others
            receipt = _join(receipt, kept_backups.forget(store, bank, "line", sorted(newer), now()))
    return receipt


def _join(receipt: Receipt, later: Receipt) -> Receipt:
    """Return one receipt of two deletions."""
    seqs = sorted(seq for first, last in (*receipt.seqs, *later.seqs) for seq in range(first, last + 1))
    return replace(later, seqs=to_ranges(seqs), lines=receipt.lines + later.lines)
