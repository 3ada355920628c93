"""VectorWorker: embeds the lines of large imports, and brings those of earlier versions up to date, in the background.

It also reads imported lines for facts, while no lines are to be embedded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from everthread.common.undo import undo_on_error
from everthread.errors import EverthreadError, StoreUnavailable
from everthread.memory import Memory

log = logging.getLogger("everthread.server")

RETRY_DELAY_S = 30.0  # until a store that could not be reached is tried again

FACTS = "facts"  # the kind of the tasks that make way for others

_Tasks = dict[tuple[str, str], Callable[[], None]]  # by bank and kind


class VectorWorker:
    """One thread, which embeds what one bank after another lacks. Thread-safe.

    Until then the lines are found by their words. If a store can't be reached, its tasks are tried again. If the server
    stops first, `everthread reindex` or the next import into the bank embeds them.
    """

    def __init__(self, retry_delay_s: float = RETRY_DELAY_S) -> None:
        """Start nothing yet.

        Args:
            retry_delay_s: seconds until a store that could not be reached is tried again.
        """
        self._retry_delay_s = retry_delay_s
        self._tasks: _Tasks = {}
        self._interrupted: _Tasks = {}
        self._retry_at = 0.0  # when interrupted tasks are tried again, by time.monotonic
        self._changed = threading.Condition()
        self._is_running = self._is_closed = False

    def add(self, memory: Memory) -> None:
        """Embed the lines of a bank, as soon as those of earlier ones are embedded, and then read them for facts."""
        self._submit(memory.bank, "vectors", lambda: memory.backlog.embed_missing(self._check_open))
        self.add_facts(memory)

    def add_facts(self, memory: Memory) -> None:
        """Read the lines of a bank that were not read for facts yet."""

        def check(_: int) -> None:
            self._check_open()
            if self._has_vectors_to_make():
                self.add_facts(memory)  # continues after them
                raise _Stopped

        self._submit(memory.bank, FACTS, lambda: memory.read_facts(check))

    def add_earlier(self, memory: Memory) -> None:
        """Bring the lines of a bank up to date that an earlier version stored: their words, glosses and codes."""

        def embed_all() -> None:
            while memory.backlog.embed_earlier():
                self._check_open()

        self._submit(memory.bank, "earlier", embed_all)

    def _submit(self, bank: str, kind: str, task: Callable[[], None]) -> None:
        with self._changed:
            self._tasks[bank, kind] = task
            self._interrupted.pop((bank, kind), None)
            self._changed.notify_all()
            if not self._is_running:
                self._start()

    def _start(self) -> None:
        """Start the thread if there is a task for it; the caller holds the lock."""
        self._is_running = False
        self._changed.notify_all()
        if (self._tasks or self._interrupted) and not self._is_closed:
            threading.Thread(target=self._run, name="everthread vectors", daemon=True).start()
            self._is_running = True  # only now: the system may refuse another thread

    def join(self, timeout: float) -> bool:
        """Wait until all lines are embedded, at most `timeout` seconds; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, timeout)

    def close(self, timeout: float) -> None:
        """Stop after the batch in progress, for which it waits at most `timeout` seconds."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.join(timeout)

    def _run(self) -> None:
        with undo_on_error(self._restart):
            while (found := self._next()) is not None:
                key, task = found
                try:
                    task()
                except _Stopped:
                    pass
                except StoreUnavailable as error:
                    log.info("lines have no vectors or were not read for facts yet, which is tried again: %s", error)
                    self._postpone(key, task)
                except EverthreadError as error:
                    log.warning("lines have no vectors or were not read for facts yet; run reindex: %s", error)

    def _restart(self) -> None:
        """Continue with the other tasks in another thread: one failed with an error that ends this thread."""
        with self._changed:
            self._start()

    def _postpone(self, key: tuple[str, str], task: Callable[[], None]) -> None:
        with self._changed:
            if not self._interrupted:
                self._retry_at = time.monotonic() + self._retry_delay_s
            if key not in self._tasks:
                self._interrupted[key] = task

    def _next(self) -> tuple[tuple[str, str], Callable[[], None]] | None:
        """Return the next task; without one, end the thread under the same lock in which tasks are added."""
        with self._changed:
            self._resume_interrupted()
            if self._tasks and not self._is_closed:
                key = min(self._tasks, key=lambda key: key[1] == FACTS)  # the first of those that are no facts
                return key, self._tasks.pop(key)
            self._is_running = False
            self._changed.notify_all()
            return None

    def _resume_interrupted(self) -> None:
        """Add the interrupted tasks if it is time; without other tasks, wait until then."""
        if not self._interrupted:
            return
        if not self._tasks:
            self._changed.wait_for(lambda: self._tasks or self._is_closed, self._retry_at - time.monotonic())
        if not self._tasks or time.monotonic() >= self._retry_at:
            self._tasks |= self._interrupted
            self._interrupted = {}

    def _has_vectors_to_make(self) -> bool:
        with self._changed:
            return any(kind != FACTS for _, kind in self._tasks)

    def _check_open(self, _: int = 0) -> None:
        if self._is_closed:
            raise _Stopped


class _Stopped(Exception):
    """A task ends early: the server stops, or the task continues after others."""
