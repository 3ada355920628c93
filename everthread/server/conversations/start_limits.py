"""Places: where replies are begun. Whoever waits for one holds no thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Result = TypeVar("Result")

MAX_STARTING = 16  # threads: more wait for each other longer than they work


class StartLimiter:
    """Those of one event loop. A bank has one of them at a time: what its talkers wait for (the end of a forgetting, a
    worker that has the bank) keeps nobody else out."""

    def __init__(self) -> None:
        self.threads = CapacityLimiter(MAX_STARTING)
        self._own: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def run(self, bank: str, begin: Callable[[], Result]) -> Result:
        """What `begin` gives, in a thread, once there is a place."""
        own = self._own.setdefault(bank, CapacityLimiter(1))
        async with own:
            return await run_sync(begin, limiter=self.threads)
