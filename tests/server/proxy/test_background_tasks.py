"""A task goes on after the request that started it, and shutdown waits for it."""

from __future__ import annotations

import asyncio
import gc

import pytest

from everthread.server.proxy.background_tasks import BackgroundTasks


def test_a_task_that_no_request_waits_for_is_finished_at_shutdown(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    async def run() -> None:
        tasks, go_on = BackgroundTasks(), asyncio.Event()

        async def work() -> None:
            await go_on.wait()
            done.append(1)

        tasks.start(work())
        gc.collect()
        await tasks.finish(0.001)
        assert "1 tasks" in caplog.text
        assert done == []
        go_on.set()
        await tasks.finish(5.0)
        assert done == [1]
        await tasks.finish(5.0)

    asyncio.run(run())
