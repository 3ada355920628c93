"""The one thread in which all that language models send is awaited and read, however many are asked at once. With a
thread for each, they would spend more on waiting for each other than on reading."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

CLOSING = 0.5  # seconds that connections may take to close when the interpreter ends

Result = TypeVar("Result")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_parents: list[asyncio.AbstractEventLoop | None] = []  # kept: what they wait for is still the parent's


def start(coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Have it done in that thread. What comes back may be waited for, and cancelled."""
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _started())
    except RuntimeError:  # the interpreter ends
        coroutine.close()
        raise


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Have it done in that thread, and wait for it; an interrupt cancels it. Not to be called in that thread."""
    waiting = start(coroutine)
    try:
        return waiting.result()
    except BaseException:
        waiting.cancel()
        raise


def _started() -> asyncio.AbstractEventLoop:
    global _loop
    if (loop := _loop) is not None:  # without the lock, which whoever is interrupted by this may hold
        return loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_serve, args=(_loop,), name="everthread models", daemon=True)
            thread.start()
            atexit.register(_end, _loop, thread)
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_closed())
    finally:
        loop.close()


async def _closed() -> None:
    """Wait for what is being closed just now: asyncio would complain of it at the end of a program that went well."""
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=CLOSING)


def _forked() -> None:
    """A process that was forked off has no such thread, and begins one of its own."""
    global _loop, _lock
    _parents.append(_loop)
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(1.0)
