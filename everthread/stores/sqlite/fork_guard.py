"""Makes SQLite safe to use with fork: while the process forks, no call is inside SQLite, and no file is open.

SQLite records in process memory which locks it holds. A child inherits the records without the locks. Another process
may then close the bank as its last user and delete the log, which loses the child's writes
(https://sqlite.org/howtocorrupt.html, section 2.6). Parent and child open their files again at the next use.
"""

from __future__ import annotations

import logging  # noqa: F401  registers its own lock first, which is then acquired after this guard before a fork
import os
import threading
from types import TracebackType
from typing import Protocol
from weakref import WeakSet


class Closable(Protocol):
    """An object that holds SQLite files open."""

    def close_idle(self) -> None:
        """Close idle connections. Called by the forking thread; must not wait for other threads."""


class ForkGuard:
    """A reentrant shared lock that calls into SQLite hold, in any number of threads; a fork waits until it is free."""

    def __init__(self) -> None:
        self._closables: WeakSet[Closable] = WeakSet()
        self._forker: int | None = None  # the thread that forks
        self._forks = 0  # nesting depth: a signal handler may fork while a fork waits
        self._held: dict[int, int] = {}  # thread -> number of times that it holds the guard
        self._changed = threading.Condition()  # its lock is reentrant, for signal handlers

    def register(self, closable: Closable) -> None:
        """Close an object's idle files before every fork, for as long as the object lives."""
        self._closables.add(closable)

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._forker not in (None, me) and me not in self._held:
                self._changed.wait()
            self._held[me] = self._held.get(me, 0) + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        me = threading.get_ident()
        with self._changed:
            depth = self._held[me] = self._held[me] - 1
            if not depth:
                self._held.pop(me, None)
                if self._forker is not None:
                    self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the calls of other threads, and close all files.

        Inside a call this is impossible, because other threads may wait for a lock that this thread holds. A signal
        handler then forks at once, and its child must not use banks that were open.
        """
        me = threading.get_ident()
        with self._changed:
            if me in self._held:
                return
            self._changed.wait_for(lambda: self._forker in (None, me))
            self._forks += 1
            self._forker = me
            self._changed.wait_for(lambda: not self._held.keys() - {me})
        for closable in list(self._closables):
            closable.close_idle()

    def after_fork_in_parent(self) -> None:
        """Release the other threads."""
        me = threading.get_ident()
        with self._changed:
            if self._forker == me and me not in self._held:
                self._forks -= 1
                self._forker = self._forker if self._forks else None
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Reset the guard to the one remaining thread."""
        me = threading.get_ident()
        self._held = {me: self._held[me]} if me in self._held else {}
        self._changed, self._forker, self._forks = threading.Condition(), None, 0


FORK_GUARD = ForkGuard()

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=FORK_GUARD.before_fork,
        after_in_parent=FORK_GUARD.after_fork_in_parent,
        after_in_child=FORK_GUARD.after_fork_in_child,
    )
