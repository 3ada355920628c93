"""A value that one thread creates and many use, such as a connection pool. Knows nothing of databases.

Other threads wait for the result, or the error, of the creating thread, instead of queueing at a dead server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from everthread.common.fork_safety import register

Made = TypeVar("Made")


class Lazy(Generic[Made]):
    """A value created at its first use, and again after a failure, after `take`, and in a forked process.

    A child must neither use nor close the value that it inherits, and the thread that was creating it does not exist
    there.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._making: Future[Made] | None = None
        self.renew()
        register(self)

    def renew(self) -> None:
        """Set aside the parent's value, in a forked process."""
        self._lock = threading.Lock()  # another thread may hold the old lock forever
        self._inherited, self._making = self._making, None

    def get(self, timeout_s: float) -> Made:
        """Return the value, creating it if necessary.

        Raises:
            TimeoutError: another thread has not created it within `timeout_s` seconds.
        """
        with self._lock:
            making, mine = self._making or Future[Made](), self._making is None
            self._making = making
        if mine:
            self._try(making)
        return making.result(timeout_s)

    def _try(self, making: Future[Made]) -> None:
        try:
            making.set_result(self._make())
        except BaseException as error:
            with self._lock:
                self._making = None
            making.set_exception(error)
            raise

    def take(self) -> Made | None:
        """Remove and return the value; None if it does not exist yet. The next use creates another."""
        with self._lock:
            if self._making is None or not self._making.done():
                return None
            made, self._making = self._making, None
        return made.result()
