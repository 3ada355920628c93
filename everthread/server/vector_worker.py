"""VectorWorker: embeds the lines of large imports after their requests are answered."""

from __future__ import annotations

import logging
import threading

from everthread.errors import EverthreadError
from everthread.memory import Memory

log = logging.getLogger("everthread.server")


class VectorWorker:
    """One thread, which embeds the lines without a vector of one bank after another. Thread-safe.

    Until then the lines are found by their words. If the server stops first, `everthread reindex` or the next import
    into the bank embeds them.
    """

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}
        self._changed = threading.Condition()
        self._is_running = self._is_closed = False

    def add(self, memory: Memory) -> None:
        """Embed the lines of a bank, as soon as those of earlier ones are embedded."""
        with self._changed:
            self._memories[memory.bank] = memory
            if self._is_running or self._is_closed:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="everthread vectors", daemon=True).start()

    def join(self, timeout: float) -> bool:
        """Wait until all lines are embedded, at most `timeout` seconds; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, timeout)

    def close(self, timeout: float) -> None:
        """Stop after the batch in progress, for which it waits at most `timeout` seconds."""
        self._is_closed = True
        self.join(timeout)

    def _run(self) -> None:
        while (memory := self._next()) is not None:
            try:
                memory.backlog.embed_missing(self._check_open)
            except _Stopped:
                pass
            except EverthreadError as error:
                log.warning("lines of an import have no vectors yet; run reindex: %s", error)

    def _next(self) -> Memory | None:
        """Return the next bank; without one, end the thread under the same lock in which banks are added."""
        with self._changed:
            if self._memories and not self._is_closed:
                return self._memories.pop(next(iter(self._memories)))
            self._is_running = False
            self._changed.notify_all()
            return None

    def _check_open(self, _: int) -> None:
        if self._is_closed:
            raise _Stopped


class _Stopped(Exception):
    """The server stops."""
