"""The one thread in which all that language models send is awaited and read, however many are asked at once. With a
thread for each, they would spend more on waiting for each other than on reading."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
Close = Callable[[], Coroutine[Any, Any, None]]

_lock = threading.RLock()  # what the garbage collector closes may come in between, in the same thread
_loop: asyncio.AbstractEventLoop | None = None
_parents: list[asyncio.AbstractEventLoop | None] = []  # kept: what they wait for is still the parent's


def start(coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Have it done in that thread. What comes back may be waited for, and cancelled."""
    return asyncio.run_coroutine_threadsafe(coroutine, _started())


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Have it done in that thread, and wait for it; an interrupt cancels it. Not to be called in that thread."""
    waiting = start(coroutine)
    try:
        return waiting.result()
    except BaseException:
        waiting.cancel()
        raise


def close_with_owner(owner: object, close: Close) -> None:
    """Have something closed in that thread once its owner is gone. The end of the process closes all by itself."""
    weakref.finalize(owner, _close, close, os.getpid()).atexit = False


def _close(close: Close, process: int) -> None:
    if process == os.getpid():  # else it was forked off, and the connections are the parent's
        start(close())


def _started() -> asyncio.AbstractEventLoop:
    """The loop. It ends with the process, in the middle of whatever it awaits: to end it in order would take as long as
    the servers that are awaited."""
    global _loop
    if (loop := _loop) is not None:  # without the lock, which whoever is interrupted by this may hold
        return loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="everthread models", daemon=True).start()
        return _loop


def _forked() -> None:
    """A process that was forked off has no such thread, and begins one of its own."""
    global _loop, _lock
    _parents.append(_loop)
    _loop, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
