"""A reply on its way, as events: written by one thread, read by any number of readers, each from the beginning.

The events are server-sent ones, ready to go out. Who writes waits for no reader, and a reader is no thread: it is woken
in its own event loop.

Source: HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from weakref import WeakKeyDictionary, ref

from everthread.chat.reply import Reply

KEEP_ALIVE_S = 15.0  # seconds without an event after which a comment keeps the connection; proxies cut at 30 and more
COMMENT = b":\n\n"

Future = asyncio.Future[None]

_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make an encoder for every piece


def encode_event(name: str, data: Mapping[str, object]) -> bytes:
    """One event. data is JSON on one line."""
    return f"event: {name}\ndata: {_as_json(data)}\n\n".encode()


class Waker:
    """Wakes those who wait in one event loop. Who is woken while the loop is still on its way to others goes with them:
    to wake a loop costs a system call, and with many replies at once several pieces come in the meantime."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._woken: deque[Future] = deque()
        self._rung = False

    @classmethod
    def for_loop(cls, loop: asyncio.AbstractEventLoop) -> Waker:
        """The one of a loop."""
        return _wakers.get(loop) or _wakers.setdefault(loop, cls(loop))

    def wake(self, future: Future) -> None:
        """Wake one, from any thread."""
        self._woken.append(future)
        loop = self._loop()
        if loop is not None and not self._rung:
            self._rung = True
            with suppress(RuntimeError):  # the loop is closed, and its readers gone
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._rung = False  # first, so that who comes while the others are woken rings again
        while self._woken:
            _wake(self._woken.popleft())


_wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, Waker] = WeakKeyDictionary()


class ReplyStream:
    """The events of one reply. key is the name of the request that it answers, and said what was asked. Several may end
    it, as whoever reads it and whoever stops it; the first does."""

    def __init__(self, reply: Reply | None = None, *, key: str | None = None, user_text: str | None = None) -> None:
        self.reply, self.key, self.user_text = reply, key, user_text
        self._events: list[bytes] = []
        self._waiting: list[tuple[Waker, Future]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._claimed = False

    @property
    def is_finished(self) -> bool:
        """Whether it is kept, and all is told."""
        return self._over.is_set()

    @property
    def other_banks(self) -> list[str]:
        """The other banks of which its events show lines."""
        return [found.bank for found in self.reply.context.others] if self.reply else []

    def emit(self, name: str, data: Mapping[str, object]) -> None:
        """Tell an event to whoever reads. Nothing comes behind the end."""
        told = encode_event(name, data)

        def add() -> None:
            if not self.is_finished:
                self._events.append(told)

        self._change(add)

    def claim_end(self) -> bool:
        """Whether it is the caller who ends it."""
        with self._lock:
            claimed, self._claimed = self._claimed, True
        return not claimed

    def finish(self, name: str, data: Mapping[str, object]) -> None:
        """Tell the last event."""
        told = encode_event(name, data)

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
        for bell, future in waiting:
            bell.wake(future)

    async def read_events(self, keep_alive: float = KEEP_ALIVE_S) -> AsyncIterator[bytes]:
        """The events from the first one on, as they come; comments where none does."""
        told = 0
        while True:
            if told < len(self._events):
                new = self._events[told:]
                told += len(new)
                yield b"".join(new)
            elif self.is_finished and told == len(self._events):
                return
            elif not await self._more(told, keep_alive):
                yield COMMENT

    async def _more(self, told: int, timeout: float) -> bool:
        """Whether there is more within so many seconds."""
        loop = asyncio.get_running_loop()
        future: Future = loop.create_future()
        with self._lock:
            if told < len(self._events) or self.is_finished:
                return True
            self._waiting.append((Waker.for_loop(loop), future))
        timer = loop.call_later(timeout, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            with self._lock:
                self._waiting = [each for each in self._waiting if each[1] is not future]
        return told < len(self._events) or self.is_finished


def _wake(future: Future) -> None:
    if not future.done():
        future.set_result(None)
