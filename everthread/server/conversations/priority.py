"""Who goes first: a reply that somebody waits for, and then what nobody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MAX_BACKGROUND_WAIT_S = 10.0  # seconds after which what nobody waits for is done all the same


class PriorityGate:
    """Safe from many threads."""

    def __init__(self, max_interactive: int) -> None:
        """at_once is how many replies are prepared side by side, in the order they came: all at once, everybody waits
        for everybody."""
        self._free = threading.BoundedSemaphore(max_interactive)
        self._awaited = 0
        self._calm = threading.Condition()
        self._one = threading.Lock()

    @contextmanager
    def interactive(self) -> Iterator[None]:
        """While a reply is prepared."""
        with self._calm:
            self._awaited += 1
        try:
            with self._free:
                yield
        finally:
            with self._calm:
                self._awaited -= 1
                if not self._awaited:
                    self._calm.notify_all()

    @contextmanager
    def background(self) -> Iterator[None]:
        """While something is done that nobody waits for: one at a time, once no reply is being prepared; and after a
        while in any case."""
        until = time.monotonic() + MAX_BACKGROUND_WAIT_S
        alone = self._one.acquire(timeout=MAX_BACKGROUND_WAIT_S)
        try:
            with self._calm:
                self._calm.wait_for(lambda: not self._awaited, max(until - time.monotonic(), 0.0))
            yield
        finally:
            if alone:
                self._one.release()
