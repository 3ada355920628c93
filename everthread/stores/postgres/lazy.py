"""Something that many threads want and one of them makes, such as the first connection to a server.

The others wait for what comes of it, an error too, so that they don't queue at a server that is dead. It knows nothing
of databases.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from everthread.common.fork_safety import register

Made = TypeVar("Made")


class Lazy(Generic[Made]):
    """Made at its first use, and anew after it failed, was taken away, or the process was forked: what a child
    inherits is its parent's, to be neither used nor closed, and the thread that was making it is not there."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._making: Future[Made] | None = None
        self.renew()
        register(self)

    def renew(self) -> None:
        """Put aside, in a process that was forked, what the parent has made."""
        self._lock = threading.Lock()  # the old one may be held for ever
        self._inherited, self._making = self._making, None

    def get(self, patience: float) -> Made:
        """What was made. TimeoutError where another thread has not made it within so many seconds."""
        with self._lock:
            making, mine = self._making or Future[Made](), self._making is None
            self._making = making
        if mine:
            self._try(making)
        return making.result(patience)

    def _try(self, making: Future[Made]) -> None:
        try:
            making.set_result(self._make())
        except BaseException as error:
            with self._lock:
                self._making = None
            making.set_exception(error)
            raise

    def take(self) -> Made | None:
        """What was made, which is made anew at the next use; None where nothing is made, or only just being made."""
        with self._lock:
            if self._making is None or not self._making.done():
                return None
            made, self._making = self._making, None
        return made.result()
