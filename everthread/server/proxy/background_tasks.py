"""Tasks that may outlive the requests that start them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

log = logging.getLogger("everthread.server")


class BackgroundTasks:
    """Tasks that may outlive the requests that start them; `asyncio.wait` waits for one without cancelling it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()  # the event loop holds tasks by weak references only

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Start a task.

        Args:
            work: what it does.
        """
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, patience_s: float) -> None:
        """Wait until all tasks are done, at most for a limited time."""
        if self._tasks:
            _, unfinished = await asyncio.wait(self._tasks, timeout=patience_s)
            if unfinished:
                log.warning("%d tasks of the proxy are not finished at shutdown", len(unfinished))
