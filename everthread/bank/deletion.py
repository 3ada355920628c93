"""Deletes a line with all its versions, a session, the lines of a speaker, or a bank."""

from __future__ import annotations

from dataclasses import replace

from everthread.bank import validation
from everthread.bank.line_versions import find_versions
from everthread.errors import BadQuery
from everthread.stores.base import LineStore, Scope
from everthread.types import Receipt, now


def parse_scope(
    bank: str, seq: int | None, session: str | None, speaker: str | None, everything: bool
) -> tuple[Scope, str | int | None]:
    """Return the scope and the name for `Store.forget` from the arguments of `Memory.forget`.

    Raises:
        BadQuery: not exactly one argument is given, or its value is invalid.
        NotFound: no line can have this number.
    """
    if sum(each is not None for each in (seq, session, speaker)) + everything != 1:
        raise BadQuery("forget takes exactly one of seq, session, speaker, everything=True")
    if seq is not None:
        return "line", validation.check_seq(seq, bank)
    if session is not None:
        return "session", validation.check_filter_name(session, "session")
    if speaker is not None:
        return "speaker", validation.check_filter_name(speaker, "speaker")
    return "bank", None


def forget(store: LineStore, bank: str, scope: Scope, name: str | int | None) -> Receipt:
    """Delete a scope. A line is deleted with its copies, the lines that it corrects, and its corrections.

    Returns:
        One receipt for all versions.

    Raises:
        NotFound: the bank has nothing of this name.
    """
    names = find_versions(store, bank, name) if scope == "line" and isinstance(name, int) else [name]
    receipts = [store.forget(bank, scope, each, now()) for each in names]
    seqs = tuple(span for receipt in receipts for span in receipt.seqs)
    return replace(receipts[-1], seqs=seqs, lines=sum(receipt.lines for receipt in receipts))
