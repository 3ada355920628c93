"""A thread for work in the background, which exists only while there is any."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

from everthread.common.fork_safety import register
from everthread.common.undo import undo_on_error
from everthread.errors import EverthreadError

log = logging.getLogger("everthread")

Task: TypeAlias = Callable[[], object]
FindTask: TypeAlias = Callable[[], Task | None]


class TaskThread:
    """Runs tasks one after the other, in a thread that ends when none is left. Thread-safe."""

    def __init__(self, name: str, work: str) -> None:
        """Begin without a thread.

        Args:
            name: the thread's name.
            work: what is postponed if a task fails, for the log: a noun in the plural.
        """
        self._name, self._work = name, work
        self.renew()
        register(self)

    def renew(self) -> None:
        """Forget the thread, in a forked child: its task belongs to the parent."""
        self._changed = threading.Condition()
        self._is_running = False

    @property
    def is_running(self) -> bool:
        """True while tasks are run."""
        return self._is_running

    def start(self, find_next: FindTask) -> None:
        """Start the thread unless it runs already or there is no task.

        A task's EverthreadError ends the thread and is logged; the next start continues.

        Args:
            find_next: returns the next task, or None if none is left. The thread alone holds it, so that its owner can
                be discarded while none runs.

        Raises:
            EverthreadError: `find_next` failed.
        """
        with self._changed:
            if self._is_running or (task := find_next()) is None:
                return
            self._is_running = True
        with undo_on_error(self._mark_idle):  # the system may refuse another thread
            threading.Thread(target=self._run, args=[task, find_next], name=self._name, daemon=True).start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no task is left, at most `timeout` seconds; return whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, timeout)

    def _run(self, task: Task | None, find_next: FindTask) -> None:
        with undo_on_error(self._mark_idle):  # otherwise no further thread would ever start
            try:
                while task is not None:
                    task()
                    task = self._find_next(find_next)
            except EverthreadError as error:  # of the store; in the foreground, it is raised
                log.warning("%s are postponed: %s", self._work, error)
                self._mark_idle()

    def _find_next(self, find_next: FindTask) -> Task | None:
        """Return the next task. Without one, mark the thread as ended under the same lock, so that a start from now on
        starts another one."""
        with self._changed:
            task = find_next()
            if task is None:
                self._mark_idle()
            return task

    def _mark_idle(self) -> None:
        with self._changed:
            self._is_running = False
            self._changed.notify_all()
