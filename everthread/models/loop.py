"""The one thread in which all that language models send is awaited and read, however many are asked at once. With a
thread for each, they would spend more on waiting for each other than on reading."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")

_lock = threading.RLock()  # what the garbage collector closes may come in between, in the same thread
_loop: asyncio.AbstractEventLoop | None = None


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


def close_with(owner: object, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have something closed in that thread once its owner is gone. The end of the process closes all by itself."""
    weakref.finalize(owner, lambda: start(close())).atexit = False


def _started() -> asyncio.AbstractEventLoop:
    """The loop. It ends with the process, in the middle of whatever it awaits: to end it in order would take as long as
    the servers that are awaited."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="everthread models", daemon=True).start()
        return _loop
