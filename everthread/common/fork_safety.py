"""Locks, and objects that hold some, in a process that was forked.

A child has the objects of its parent and none of its threads: a lock that another thread held at the fork is held in
the child for ever.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object that a forked child can't use as it was inherited."""

    def renew(self) -> None:
        """Start over in the child: with free locks, and without what belongs to the parent."""


_renewed: WeakSet[ForkAware] = WeakSet()


def register(each: ForkAware) -> None:
    """Have an object start over in every child that is forked while it lives. To be called once it is whole."""
    _renewed.add(each)


class Lock:
    """A lock that is free in a forked child."""

    def __init__(self) -> None:
        self._taken: threading.Lock | None = None  # what `release` gives back; in a child it may be the parent's
        self.renew()
        register(self)

    def renew(self) -> None:
        """Be free, whether or not a thread of the parent holds it."""
        self._lock = threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Take it; False where that takes longer than `timeout` seconds."""
        lock = self._lock
        if not lock.acquire(timeout=timeout):
            return False
        self._taken = lock
        return True

    def release(self) -> None:
        """Give it back. In a child, a thread that held it when it forked has nothing more to give back."""
        lock, self._taken = self._taken, None
        if lock is not None:
            lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _forked() -> None:
    for each in list(_renewed):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forked)
