"""Texts that no bank stores, held in memory for a while so that an answer can be repeated."""

from __future__ import annotations

import time
from collections import OrderedDict

MAX_UNWRITTEN_TEXTS = 256


class UnwrittenTexts:
    """The latest texts of all banks, by number."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, tuple[str, str]] = OrderedDict()  # the bank, and the text

    def hold(self, bank: str, text: str) -> int:
        """Hold a text of a bank, and return its number."""
        number = time.time_ns()
        self._texts[number] = bank, text
        while len(self._texts) > MAX_UNWRITTEN_TEXTS:
            self._texts.popitem(last=False)
        return number

    def get(self, number: int) -> str:
        """Return a text, or "" if it is no longer held."""
        return self._texts.get(number, ("", ""))[1]

    def drop_bank(self, bank: str) -> None:
        """Drop the texts of a bank."""
        for number in [number for number, (holder, _) in list(self._texts.items()) if holder == bank]:
            self._texts.pop(number, None)
