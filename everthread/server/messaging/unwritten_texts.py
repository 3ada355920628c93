"""Texts that no bank stores, held in memory for a while so that an answer can be repeated."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

MAX_UNWRITTEN_TEXTS = 256


class UnwrittenTexts:
    """The latest texts of all banks, by number. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_number = 0
        self._texts: OrderedDict[int, tuple[str, str]] = OrderedDict()  # the bank, and the text

    def hold(self, bank: str, text: str) -> int:
        """Hold a text of a bank, and return its number, which no later process uses again."""
        with self._lock:
            self._last_number = number = max(time.time_ns(), self._last_number + 1)
            self._texts[number] = bank, text
            while len(self._texts) > MAX_UNWRITTEN_TEXTS:
                self._texts.popitem(last=False)
        return number

    def get(self, number: int) -> str:
        """Return a text, or "" if it is no longer held."""
        with self._lock:
            return self._texts.get(number, ("", ""))[1]

    def drop_bank(self, bank: str) -> None:
        """Drop the texts of a bank."""
        with self._lock:
            for number in [number for number, (owner, _) in self._texts.items() if owner == bank]:
                del self._texts[number]
