"""Keeps SQLite and fork apart: while the process is forked no call is inside SQLite, and no file is open.

SQLite notes in the memory of a process which locks it holds. A child inherits the notes and not the locks, so what it
opens itself is locked in name only: another process that believes it is the last to close the bank takes the log away,
and what the child writes is lost (https://sqlite.org/howtocorrupt.html, section 2.6). Parent and child open their files
again at the next use.
"""

from __future__ import annotations

import logging  # noqa: F401  its own lock is taken before a fork as well: after ours, if it was registered before
import os
import threading
from types import TracebackType
from typing import Protocol
from weakref import WeakSet


class Closable(Protocol):
    """What holds files of SQLite's open."""

    def let_go(self) -> None:
        """Close the connections that no call uses. Called by the thread that forks, and must not wait for others."""


class ForkGuard:
    """Held by calls that use SQLite, of any number of threads at once; a fork waits until none is left, and they for
    the fork. A thread may take it again while it holds it."""

    def __init__(self) -> None:
        self._closables: WeakSet[Closable] = WeakSet()
        self._forker: int | None = None  # the thread that forks
        self._forks = 0  # how many forks it is in the middle of: a signal's handler may fork where another waits
        self._held: dict[int, int] = {}  # how often, by thread
        self._changed = threading.Condition()  # of a lock that a handler of the same thread may take again

    def closes(self, each: Closable) -> None:
        """Have an object let go of its files before every fork, for as long as it lives."""
        self._closables.add(each)

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
            left = self._held[me] = self._held[me] - 1
            if not left:
                self._held.pop(me, None)
                if self._forker is not None:
                    self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the calls of other threads, and have all files closed. Inside a call, neither can be done: others
        may wait for what this thread holds. So a signal handler forks at once there, and its child must not use banks
        that were open."""
        me = threading.get_ident()
        with self._changed:
            if me in self._held:
                return
            self._changed.wait_for(lambda: self._forker in (None, me))
            self._forks += 1
            self._forker = me
            self._changed.wait_for(lambda: not self._held.keys() - {me})
        for each in list(self._closables):
            each.let_go()

    def after_fork_in_parent(self) -> None:
        """Let the others go on."""
        me = threading.get_ident()
        with self._changed:
            if self._forker == me and me not in self._held:
                self._forks -= 1
                self._forker = self._forker if self._forks else None
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin with the one thread that is left."""
        me = threading.get_ident()
        self._held = {me: self._held[me]} if me in self._held else {}
        self._changed, self._forker, self._forks = threading.Condition(), None, 0


GUARD = ForkGuard()

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=GUARD.before_fork,
        after_in_parent=GUARD.after_fork_in_parent,
        after_in_child=GUARD.after_fork_in_child,
    )
