"""Deadline: bounds the time that the calls of models may take for one request.

A call runs in a thread of its own. One that does not return in time is left to end there, and its result is dropped.
The process does not exit before: the threads are not daemons, because native code that still runs when the interpreter
shuts down aborts the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from everthread.common import fork_safety

Result = TypeVar("Result")

MODEL_SHARE = 0.8  # of the time, for all models together; the rest is for reading the store
MAX_SECONDS = threading.TIMEOUT_MAX / 2  # of a request; a thread can't wait for longer than the system can count
MAX_CALLS = 32  # calls that run at once in a process, including late ones; a further call waits


class _Slots:
    """The slots for running calls. All are free in a forked process, which has none of the threads."""

    def __init__(self) -> None:
        self.renew()
        fork_safety.register(self)

    def renew(self) -> None:
        self.free = threading.Semaphore(MAX_CALLS)


_SLOTS = _Slots()


class Deadline:
    """The moment by which a request's models must have answered.

    Attributes:
        missed: whether something was left out for lack of time.
    """

    def __init__(self, seconds: float) -> None:
        """Start the clock.

        Args:
            seconds: the time of the whole request; with 0 no model is called.
        """
        self._at = time.monotonic() + min(seconds, MAX_SECONDS) * MODEL_SHARE
        self.missed = False

    def call(self, function: Callable[[], Result], otherwise: Result) -> Result:
        """Return the result of a function if it returns in time, else `otherwise`. Raises what the function raises."""
        future = begin(function, self._remaining_s()) if self._remaining_s() > 0 else None
        if future is None:
            self.missed = True
            return otherwise
        return self.wait_for(future, otherwise)

    def wait_for(self, future: Future[Result], otherwise: Result) -> Result:
        """Return the result of a call that has begun, as `call` does."""
        if not wait([future], self._remaining_s()).done:
            self.missed = True
            return otherwise
        return future.result()

    def _remaining_s(self) -> float:
        return max(self._at - time.monotonic(), 0.0)


def begin(function: Callable[[], Result], patience_s: float = 0.0) -> Future[Result] | None:
    """Begin a call in a thread of its own.

    Args:
        function: what is called.
        patience_s: seconds to wait while MAX_CALLS others run.

    Returns:
        Its future result; None if too many others run.
    """
    slots = _SLOTS.free  # the thread releases the slot of this semaphore, even after a fork
    if not slots.acquire(timeout=patience_s):
        return None
    future = Future[Result]()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
            future.set_exception(error)
        finally:
            slots.release()

    threading.Thread(target=run, name="everthread-deadline").start()
    return future
