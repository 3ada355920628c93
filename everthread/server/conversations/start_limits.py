"""Limits how many replies are started at once. A waiting request holds no thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Result = TypeVar("Result")

MAX_STARTING = 16  # threads; more would mostly wait for each other


class StartLimiter:
    """The limits of one event loop: one request per bank at a time, and MAX_STARTING in all.

    A request that waits for a deletion or for another worker doesn't delay other banks.
    """

    def __init__(self) -> None:
        self.threads = CapacityLimiter(MAX_STARTING)
        self._by_bank: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def run(self, bank: str, begin: Callable[[], Result]) -> Result:
        """Run `begin` in a thread, as soon as the limits allow, and return its result."""
        limiter = self._by_bank.setdefault(bank, CapacityLimiter(1))
        async with limiter:
            return await run_sync(begin, limiter=self.threads)
