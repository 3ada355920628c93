"""Gives the preparation of replies priority over background work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

BackgroundWork = Literal["embedding", "facts"]

MAX_BACKGROUND_WAIT_S = 10.0  # background work waits at most this long for replies
MAX_HELD_S = 120.0  # and this long for other background work


class PriorityGate:
    """Admits replies and background work. Thread-safe."""

    def __init__(self, max_interactive: int) -> None:
        """Create a gate.

        Args:
            max_interactive: replies prepared at once, in order of arrival; with more, all would finish late.
        """
        self._slots = threading.BoundedSemaphore(max_interactive)
        self._waiting = 0
        self._changed = threading.Condition()
        self._background = {work: threading.Lock() for work in get_args(BackgroundWork)}

    @contextmanager
    def interactive(self) -> Iterator[None]:
        """Hold a slot for the preparation of a reply."""
        with self._changed:
            self._waiting += 1
        try:
            with self._slots:
                yield
        finally:
            with self._changed:
                self._waiting -= 1
                if not self._waiting:
                    self._changed.notify_all()

    @contextmanager
    def background(self, work: BackgroundWork) -> Iterator[None]:
        """Hold the slot for background work of one kind: one caller at a time, while no reply is being prepared.

        A caller that has waited for MAX_BACKGROUND_WAIT_S proceeds beside replies, but not beside others of its kind:
        of hundreds that had waited, each reply would have to wait for all. Only if the others take longer than
        MAX_HELD_S, because an embedder hangs, does it proceed beside them.

        Args:
            work: the kind. Reading for facts takes seconds at first, and vectors don't wait for it.
        """
        deadline = time.monotonic() + MAX_BACKGROUND_WAIT_S
        slot = self._background[work]
        is_alone = slot.acquire(timeout=MAX_HELD_S)
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._waiting, max(deadline - time.monotonic(), 0.0))
            yield
        finally:
            if is_alone:
                slot.release()
