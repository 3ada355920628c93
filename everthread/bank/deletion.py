"""What is to be forgotten, as a store takes it: exactly one line, session or speaker, or the whole bank."""

from __future__ import annotations

from dataclasses import replace

from everthread.bank import validation
from everthread.bank.line_versions import copies
from everthread.errors import BadQuery
from everthread.stores.base import Scope, Store
from everthread.types import Receipt, now


def parse_scope(
    bank: str, seq: int | None, session: str | None, speaker: str | None, everything: bool
) -> tuple[Scope, str | int | None]:
    """The scope and the name of what is to be forgotten. BadQuery, and NotFound for a number that no line can have."""
    if sum(each is not None for each in (seq, session, speaker)) + everything != 1:
        raise BadQuery("forget takes exactly one of seq, session, speaker, everything=True")
    if seq is not None:
        return "line", validation.check_seq(seq, bank)
    if session is not None:
        return "session", validation.check_filter_name(session, "session")
    if speaker is not None:
        return "speaker", validation.check_filter_name(speaker, "speaker")
    return "bank", None


def forget(store: Store, bank: str, scope: Scope, name: str | int | None) -> Receipt:
    """Forget it; a line under every number that it has, and with what was corrected into it. Raises NotFound."""
    names = copies(store, bank, name) if scope == "line" and isinstance(name, int) else [name]
    receipts = [store.forget(bank, scope, each, now()) for each in names]
    seqs = tuple(span for receipt in receipts for span in receipt.seqs)
    return replace(receipts[-1], seqs=seqs, lines=sum(receipt.lines for receipt in receipts))
