"""The event loop that reads the replies of all language models, in one thread.

With one thread per reply, switching threads would take more time than reading.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

Result = TypeVar("Result")
Close = Callable[[], Coroutine[Any, Any, None]]

INTERRUPT_DELAY_S = 0.1  # after which an interrupt is noticed at the latest

_lock = threading.RLock()  # reentrant: the garbage collector may call `_close` while this thread holds it
_loop: asyncio.AbstractEventLoop | None = None
_parent_loops: list[asyncio.AbstractEventLoop | None] = []  # never freed: their connections are the parent's


def start(coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Run a coroutine in the loop's thread; return its future, which can be awaited and cancelled."""
    return asyncio.run_coroutine_threadsafe(coroutine, _ensure_loop())


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the loop's thread and wait for its result; an interrupt cancels it.

    Must not be called from that thread itself.
    """
    future = start(coroutine)
    try:
        return wait_for(future)
    finally:
        future.cancel()  # no effect once it is done


def wait_for(future: Future[Result]) -> Result:
    """Return the result of a future; an interrupt ends the wait."""
    if sys.platform == "win32":  # which delivers no interrupt to a wait without a timeout
        while not future.done():  # at once for a cancelled one, even if its coroutine ends later
            wait([future], INTERRUPT_DELAY_S)
    return future.result()


def close_with_owner(owner: object, close: Close) -> None:
    """Run `close` in the loop's thread once its owner is garbage-collected, but not at the end of the process."""
    weakref.finalize(owner, _close, close, os.getpid()).atexit = False


def _close(close: Close, pid: int) -> None:
    if pid == os.getpid():  # in a forked child the connections are the parent's
        start(close())


def _ensure_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, and start it at the first call.

    It ends with the process, without waiting: an orderly shutdown would take as long as the slowest server.
    """
    global _loop
    if (loop := _loop) is not None:  # without the lock, which the interrupted code may hold
        return loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="everthread models", daemon=True).start()
        return _loop


def _reset_after_fork() -> None:
    """Forget the loop in a forked child, which has no such thread and starts its own."""
    global _loop, _lock
    _parent_loops.append(_loop)
    _loop, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
