"""A reply on its way, as events: written by one thread, read by any number of readers, each from the beginning.

The events are server-sent ones, ready to go out. Who writes waits for no reader, and a reader is no thread: it is woken
in its own event loop.

Source: HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

from everthread.reply import Reply

KEEP_ALIVE = 15.0  # seconds without an event after which a comment keeps the connection; proxies cut at 30 and more
COMMENT = b":\n\n"

Future = asyncio.Future[None]


def event(name: str, data: Mapping[str, object]) -> bytes:
    """One event. data is JSON on one line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class Running:
    """The events of one reply. key is the name of the request that it answers, and said what was asked. Several may end
    it, as whoever reads it and whoever stops it; the first does."""

    def __init__(self, reply: Reply | None = None, *, key: str | None = None, said: str | None = None) -> None:
        self.reply, self.key, self.said = reply, key, said
        self._events: list[bytes] = []
        self._waiting: list[tuple[asyncio.AbstractEventLoop, Future]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._claimed = False

    @property
    def over(self) -> bool:
        """Whether it is kept, and all is told."""
        return self._over.is_set()

    def put(self, name: str, data: Mapping[str, object]) -> None:
        """Tell an event to whoever reads. Nothing comes behind the end."""
        told = event(name, data)

        def add() -> None:
            if not self.over:
                self._events.append(told)

        self._change(add)

    def claim(self) -> bool:
        """Whether it is the caller who ends it."""
        with self._lock:
            claimed, self._claimed = self._claimed, True
        return not claimed

    def end(self, name: str, data: Mapping[str, object]) -> None:
        """Tell the last event."""
        told = event(name, data)

        def add() -> None:
            self._events.append(told)
            self._over.set()

        self._change(add)

    def wait(self, timeout: float) -> bool:
        """Wait until it is over; False where that takes longer than so many seconds."""
        return self._over.wait(timeout)

    def _change(self, change: Callable[[], None]) -> None:
        with self._lock:
            change()
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            with suppress(RuntimeError):  # the loop is closed, and its reader gone
                loop.call_soon_threadsafe(_wake, future)

    async def follow(self, keep_alive: float = KEEP_ALIVE) -> AsyncIterator[bytes]:
        """The events from the first one on, as they come; comments where none does."""
        told = 0
        while True:
            if told < len(self._events):
                new = self._events[told:]
                told += len(new)
                yield b"".join(new)
            elif self.over and told == len(self._events):
                return
            elif not await self._more(told, keep_alive):
                yield COMMENT

    async def _more(self, told: int, timeout: float) -> bool:
        """Whether there is more within so many seconds."""
        loop = asyncio.get_running_loop()
        future: Future = loop.create_future()
        with self._lock:
            if told < len(self._events) or self.over:
                return True
            self._waiting.append((loop, future))
        timer = loop.call_later(timeout, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            with self._lock:
                self._waiting = [each for each in self._waiting if each[1] is not future]
        return told < len(self._events) or self.over


def _wake(future: Future) -> None:
    if not future.done():
        future.set_result(None)
