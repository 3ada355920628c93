"""Keeps requests out of a bank while something of it is being forgotten."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class ForgettingBarrier:
    """Marks banks in which something is being forgotten, and lets requests wait for the end of it."""

    def __init__(self, lock: threading.Lock) -> None:
        """Args:
        lock: guards the marks; the registry's own, so that a waiting caller can act before anything is forgotten.
        """
        self._changed = threading.Condition(lock)
        self._banks = Counter[str]()  # how many callers are forgetting something in each bank

    def blocks(self, bank: str) -> bool:
        """Return whether something of the bank is being forgotten."""
        return bank in self._banks

    def wait(self, bank: str) -> None:
        """Wait until nothing of the bank is being forgotten. Called with the lock held, which is released meanwhile."""
        self._changed.wait_for(lambda: bank not in self._banks)

    @contextmanager
    def raise_for(self, bank: str) -> Iterator[None]:
        """Mark a bank for the duration of the block; callers of `wait` wait for its end."""
        with self._changed:
            self._banks[bank] += 1
        try:
            yield
        finally:
            with self._changed:
                self._banks -= Counter([bank])
                self._changed.notify_all()
