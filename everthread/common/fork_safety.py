"""Makes locks, and objects that contain locks, usable in a forked process.

A child process has copies of its parent's objects but none of its threads: a lock that another thread held at the fork
would stay locked in the child forever.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object that must be reset before a forked child uses it."""

    def renew(self) -> None:
        """Reset the object in the child: free its locks, and drop whatever belongs to the parent."""


_registered: WeakSet[ForkAware] = WeakSet()


def register(instance: ForkAware) -> None:
    """Renew an object in every child that is forked while it exists. Call this once the object is fully initialised."""
    _registered.add(instance)


class Lock:
    """A lock that is free in a forked child."""

    def __init__(self) -> None:
        self._held: threading.Lock | None = None  # the lock that `release` releases; in a child it may be the parent's
        self.renew()
        register(self)

    def renew(self) -> None:
        """Unlock, whether or not a thread of the parent holds the lock."""
        self._lock = threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Acquire the lock; return False if that takes longer than `timeout` seconds."""
        lock = self._lock
        if not lock.acquire(timeout=timeout):
            return False
        self._held = lock
        return True

    def release(self) -> None:
        """Release the lock. In a child, this does nothing for a lock that the thread held when it forked."""
        lock, self._held = self._held, None
        if lock is not None:
            lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _renew_all() -> None:
    for instance in list(_registered):
        instance.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_renew_all)
