"""A value that one thread creates and many use, such as a connection pool.

Other threads wait for the result, or the error, of the creating thread, instead of queueing at a dead server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from everthread.common.fork_safety import register

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A value created at its first use, and again after a failure, after `take`, and in a forked process.

    A forked process must neither use nor close the value that it inherits, and has no thread that completes a creation
    begun in its parent.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._making: Future[Value] | None = None
        self.renew()
        register(self)

    def renew(self) -> None:
        """Set aside the parent's value. Called in a forked process."""
        self._lock = threading.Lock()  # another thread may hold the old lock forever
        self._inherited, self._making = self._making, None

    def get(self, timeout_s: float) -> Value:
        """Return the value, creating it if necessary.

        Raises:
            TimeoutError: another thread has not created it within `timeout_s` seconds.
        """
        with self._lock:
            making, is_creator = self._making or Future[Value](), self._making is None
            self._making = making
        if is_creator:
            self._create(making)
        return making.result(timeout_s)

    def _create(self, making: Future[Value]) -> None:
        try:
            making.set_result(self._make())
        except BaseException as error:  # without an outcome, the other threads would wait until their timeout
            with self._lock:
                self._making = None
            making.set_exception(error)
            raise

    def take(self) -> Value | None:
        """Remove and return the value; None if it does not exist yet. The next use creates another."""
        with self._lock:
            if self._making is None or not self._making.done():
                return None
            making, self._making = self._making, None
        return making.result()
