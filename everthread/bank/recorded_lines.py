"""Checks that a bank still has a line that this process knows. Another line has its number if the bank was deleted and
created again."""

from __future__ import annotations

from datetime import datetime

from everthread.bank.line_versions import get_recorded
from everthread.stores.base import Store
from everthread.types import Line


def is_recorded(store: Store, bank: str, line: Line) -> bool:
    """Return whether a bank still has a line, retracted or not."""
    stored = get_recorded(store, bank, line.seq) if store.exists(bank) else None
    return stored is not None and _identify(stored) == _identify(line)


def is_of_former_bank(store: Store, bank: str, line: Line) -> bool:
    """Return whether the bank was deleted after it had this line; a line may also have been forgotten alone."""
    stored = get_recorded(store, bank, line.seq)
    if stored is None:
        return store.corpus_stats(bank).last_seq < line.seq
    return _identify(stored) != _identify(line)


def _identify(line: Line) -> tuple[str, str, datetime]:
    """Return the values of a line that never change."""
    return line.session, line.text, line.said_at
