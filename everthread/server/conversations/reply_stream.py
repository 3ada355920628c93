"""Streams a reply as server-sent events, from one writer to any number of readers, each from the beginning.

The writer doesn't wait for readers. A reader needs no thread: it is woken in its own event loop.

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

from starlette.concurrency import run_in_threadpool

from everthread.chat.reply import Reply
from everthread.server.problems import Problem, build_document

KEEP_ALIVE_S = 15.0  # after this time without an event a comment is sent; proxies close idle connections after 30 s
CHECK_INTERVAL_S = 2.0  # between two checks whether a reader may go on
COMMENT = b":\n\n"

Future = asyncio.Future[None]

_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would create an encoder for every piece


def encode_event(name: str, data: Mapping[str, object]) -> bytes:
    """Encode one event, with its data as JSON on one line."""
    return f"event: {name}\ndata: {_as_json(data)}\n\n".encode()


class Waker:
    """Wakes the readers in one event loop.

    Waking a loop costs a system call. With many replies at once, several pieces arrive before the loop runs; their
    readers are woken by one call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._woken: deque[Future] = deque()
        self._is_scheduled = False

    @classmethod
    def for_loop(cls, loop: asyncio.AbstractEventLoop) -> Waker:
        """Return the waker of a loop."""
        return _wakers.get(loop) or _wakers.setdefault(loop, cls(loop))

    def wake(self, future: Future) -> None:
        """Wake one reader, from any thread."""
        self._woken.append(future)
        loop = self._loop()
        if loop is not None and not self._is_scheduled:
            self._is_scheduled = True
            with suppress(RuntimeError):  # the loop is closed, and has no readers
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._is_scheduled = False  # before the readers are woken, so that one that is added now wakes the loop again
        while self._woken:
            _wake(self._woken.popleft())


_wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, Waker] = WeakKeyDictionary()


class ReplyStream:
    """The events of one reply.

    Several threads may try to end it, such as the reader of the model and a request to stop it; the first succeeds.
    """

    def __init__(self, reply: Reply | None = None, *, key: str | None = None, user_text: str | None = None) -> None:
        """Create a stream without events.

        Args:
            reply: the reply, or None for a stream of saved lines.
            key: the idempotency key of the request.
            user_text: the text that is replied to.
        """
        self.reply, self.key, self.user_text = reply, key, user_text
        self._events: list[bytes] = []
        self._waiting: list[tuple[Waker, Future]] = []
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._is_claimed = False

    @property
    def is_finished(self) -> bool:
        """True once the reply is saved and its last event was emitted."""
        return self._finished.is_set()

    @property
    def other_banks(self) -> list[str]:
        """The other banks whose lines the events contain."""
        return [context.bank for context in self.reply.context.others] if self.reply else []

    @property
    def has_forgotten(self) -> bool:
        """True if the reply ended the conversation and forgot it."""
        ending = self.reply.ending if self.reply else None
        return ending is not None and ending.receipt is not None

    def emit(self, name: str, data: Mapping[str, object]) -> None:
        """Emit an event, unless the stream is finished."""
        event = encode_event(name, data)

        def add() -> None:
            if not self.is_finished:
                self._events.append(event)

        self._change(add)

    def try_claim_end(self) -> bool:
        """Claim the right to end the stream. Return whether the caller has it."""
        with self._lock:
            was_claimed, self._is_claimed = self._is_claimed, True
        return not was_claimed

    def finish(self, name: str, data: Mapping[str, object]) -> None:
        """Emit the last event and finish the stream."""
        event = encode_event(name, data)

        def add() -> None:
            self._events.append(event)
            self._finished.set()

        self._change(add)

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until the stream is finished. Return whether it is."""
        return self._finished.wait(timeout)

    def _change(self, change: Callable[[], None]) -> None:
        with self._lock:
            change()
            waiting, self._waiting = self._waiting, []
        for waker, future in waiting:
            waker.wake(future)

    async def read_events(
        self, keep_alive: float = KEEP_ALIVE_S, check: Callable[[], None] | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the events from the first one on, as they arrive.

        Args:
            keep_alive: seconds without an event after which a comment is sent.
            check: raises Problem if the reader may not go on; it then gets an `error` event, and no further one. None:
                the reader may always go on.
        """
        sent, loop = 0, asyncio.get_running_loop()
        heard_at = checked_at = loop.time()
        while True:
            if check is not None and loop.time() - checked_at >= CHECK_INTERVAL_S:
                try:
                    await run_in_threadpool(check)
                except Problem as problem:
                    yield encode_event("error", build_document(problem.status, problem.name, problem.detail))
                    return
                checked_at = loop.time()
            if sent < len(self._events):
                heard_at = loop.time()
                unsent = self._events[sent:]
                sent += len(unsent)
                yield b"".join(unsent)
            elif self.is_finished and sent == len(self._events):
                return
            elif not await self._wait_for_more(sent, keep_alive if check is None else CHECK_INTERVAL_S) and (
                loop.time() - heard_at >= keep_alive
            ):
                heard_at = loop.time()
                yield COMMENT

    async def _wait_for_more(self, sent: int, timeout: float) -> bool:
        """Wait up to `timeout` seconds for further events. Return whether there are any."""
        loop = asyncio.get_running_loop()
        future: Future = loop.create_future()
        with self._lock:
            if sent < len(self._events) or self.is_finished:
                return True
            self._waiting.append((Waker.for_loop(loop), future))
        timer = loop.call_later(timeout, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            with self._lock:
                self._waiting = [(waker, waiting) for waker, waiting in self._waiting if waiting is not future]
        return sent < len(self._events) or self.is_finished


def _wake(future: Future) -> None:
    if not future.done():
        future.set_result(None)
