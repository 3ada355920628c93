"""Keeps requests out of a bank while part of it is being forgotten."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class ForgettingBarrier:
    """Marks banks in which something is being forgotten, and lets requests wait until that is done."""

    def __init__(self, lock: threading.Lock) -> None:
        """Create a barrier without marks.

        Args:
            lock: guards the marks; the registry's own, so that a caller that has waited can act before the next mark.
        """
        self._changed = threading.Condition(lock)
        self._banks = Counter[str]()  # how many callers are forgetting something in each bank

    def blocks(self, bank: str) -> bool:
        """Return whether part of the bank is being forgotten."""
        return bank in self._banks

    def wait(self, bank: str) -> None:
        """Wait until nothing of the bank is being forgotten. Called with the lock held; waiting releases it."""
        self._changed.wait_for(lambda: bank not in self._banks)

    @contextmanager
    def raise_for(self, bank: str) -> Iterator[None]:
        """Mark a bank for the duration of the block, so that `wait` waits for its end."""
        with self._changed:
            self._banks[bank] += 1
        try:
            yield
        finally:
            with self._changed:
                self._banks -= Counter([bank])
                self._changed.notify_all()
