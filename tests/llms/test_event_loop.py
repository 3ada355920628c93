from __future__ import annotations

import _thread
import asyncio
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from hardship import PATIENCE, SOON

from everthread.llms.event_loop import run, start, wait_for


async def get_thread_id() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


def test_all_coroutines_run_in_one_separate_thread() -> None:
    with ThreadPoolExecutor(4) as pool:
        thread_ids = set(pool.map(lambda _: run(get_thread_id()), range(20)))
    assert len(thread_ids) == 1
    assert thread_ids != {threading.get_ident()}


def test_an_interrupt_that_wakes_no_lock_ends_a_wait_as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    future = start(asyncio.sleep(PATIENCE))
    monkeypatch.setattr(sys, "platform", "win32")
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        wait_for(future)
    assert not future.done()
    future.cancel()


def test_a_cancelled_wait_ends_before_its_coroutine_as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    async def clean_up_slowly() -> None:
        try:
            begun.set()
            await asyncio.sleep(PATIENCE)
        finally:
            await asyncio.to_thread(go.wait, SOON)
            ended.set()

    future = start(clean_up_slowly())
    assert begun.wait(PATIENCE)
    monkeypatch.setattr(sys, "platform", "win32")
    threading.Timer(0.2, future.cancel).start()
    try:
        with pytest.raises(CancelledError):
            wait_for(future)
        assert not ended.is_set()
    finally:
        go.set()


def test_an_exception_is_raised_in_the_calling_thread() -> None:
    async def fail() -> None:
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        run(fail())


def test_a_started_coroutine_can_be_cancelled() -> None:
    started, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            started.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    future = start(wait())
    assert started.wait(PATIENCE)
    future.cancel()
    assert cancelled.wait(PATIENCE)
    with pytest.raises(CancelledError):
        future.result()


PENDING_AT_EXIT = """
import asyncio, logging
logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns about slow steps, as on a busy machine
from everthread.llms.event_loop import start
start(asyncio.sleep(60))
print("done")
"""


def test_a_process_exits_quietly_with_a_pending_coroutine() -> None:
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PENDING_AT_EXIT],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("done\n", "")
