"""General knowledge: texts given to a bank that packabby recalls as it does summaries. No line is their source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from everthread.types import NewUnit, Unit, now

KIND = "general"
_BLANK_ROWS = re.compile(r"\n[^\S\n]*\n")


class UnitBank(Protocol):
    """A bank whose units can be listed and added."""

    def units(self, kind: str | None = None, *, current: bool = False) -> list[Unit]: ...

    def add_unit(self, unit: NewUnit) -> Unit: ...


def paragraphs(text: str) -> list[str]:
    """Splits a text at blank rows."""
    return [each.strip() for each in _BLANK_ROWS.split(text) if each.strip()]


def seed(bank: UnitBank, texts: Iterable[str], at: datetime | None = None) -> list[Unit]:
    """Write texts of general knowledge, except for those that the bank has.

    Args:
        bank: the bank, such as a Memory.
        texts: the texts, each to be recalled by itself.
        at: the moment from which they are known; now, if none is given. A question as of an earlier one finds none.

    Returns:
        The units that were written.

    Raises:
        BadInput: if a text is blank or too long.
        StoreUnavailable: if the store can't be written; the same texts again complete the work.
    """
    known = {unit.text for unit in bank.units(KIND, current=True)}
    fresh = [text for text in dict.fromkeys(texts) if text not in known]
    return [bank.add_unit(NewUnit(KIND, text, 0, 0, at or now())) for text in fresh]
