"""Runs tasks in threads: those of one person in order, those of several people at once."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger("everthread.server")

MAX_CONCURRENT = 64  # tasks that run at a time

Task = Callable[[], None]


class PersonQueues:
    """The queues of all people. Thread-safe. An exception of a task is logged by its type."""

    def __init__(self, name: str) -> None:
        """Create empty queues.

        Args:
            name: the name of the threads.
        """
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT, name)
        self._waiting: dict[str, deque[Task]] = {}  # by person; the first one is running
        self._changed = threading.Condition()

    def run(self, task: Task) -> None:
        """Run a task at once."""
        self._pool.submit(task).add_done_callback(_log_error)

    def enqueue(self, person: str, task: Task) -> None:
        """Run a task after the person's earlier ones."""
        with self._changed:
            waiting = self._waiting.setdefault(person, deque())
            waiting.append(task)
            if len(waiting) == 1:
                self.run(lambda: self._run_next(person))

    def close(self) -> None:
        """Wait for all tasks, and stop."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
        self._pool.shutdown()

    def _run_next(self, person: str) -> None:
        """Run the person's task that has waited longest."""
        waiting = self._waiting[person]
        try:
            waiting[0]()
        finally:
            with self._changed:
                waiting.popleft()
                if waiting:
                    self.run(lambda: self._run_next(person))
                else:
                    del self._waiting[person]
                    self._changed.notify_all()


def _log_error(done: Future[None]) -> None:
    """Log the type of an unexpected error."""
    if (error := done.exception()) is not None:
        log.error("a message could not be answered: %s", type(error).__name__)
