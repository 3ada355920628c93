"""Adds general knowledge to a bank: texts that packabby recalls like summaries, but that derive from no line."""

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

    def units(self, kind: str | None = None, *, only_current: bool = False) -> list[Unit]: ...

    def add_unit(self, unit: NewUnit) -> Unit: ...


def split_paragraphs(text: str) -> list[str]:
    """Split a text at blank rows."""
    return [paragraph.strip() for paragraph in _BLANK_ROWS.split(text) if paragraph.strip()]


def add_knowledge(bank: UnitBank, texts: Iterable[str], at: datetime | None = None) -> list[Unit]:
    """Add texts of general knowledge, except for those that the bank already contains.

    Args:
        bank: the bank, such as a Memory.
        texts: the texts, each recalled separately.
        at: the time from which the texts are known; a query as of an earlier time doesn't find them. Default: now.

    Returns:
        The units that were written.

    Raises:
        BadInput: a text is blank or too long.
        StoreUnavailable: the store can't be written. Calling again with the same texts completes the work.
    """
    known = {unit.text for unit in bank.units(KIND, only_current=True)}
    new_texts = [text for text in dict.fromkeys(texts) if text not in known]
    return [bank.add_unit(NewUnit(KIND, text, 0, 0, at or now())) for text in new_texts]
