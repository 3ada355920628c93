from __future__ import annotations

import asyncio
from itertools import count

from everthread.server.import_runs import ImportRun, ImportRuns


async def follow(runs: ImportRuns, reported: list[int], *, leaves: bool) -> None:
    """Start an import without an end, read its first event, and go away; or let the server shut down."""

    def work(run: ImportRun) -> None:
        for number in count():
            run.report("progress", {"done": number})
            reported.append(number)

    run = ImportRun(work, None)
    events = runs.start(run)
    assert await anext(events) == b'event: progress\ndata: {"done": 0}\n\n'
    if leaves:
        await events.aclose()  # type: ignore[attr-defined]
    else:
        await asyncio.to_thread(runs.close)
    await asyncio.to_thread(run.thread.join)


def test_an_import_stops_when_its_reader_goes_away_or_the_server_shuts_down() -> None:
    for leaves in (True, False):
        reported: list[int] = []
        asyncio.run(follow(ImportRuns(), reported, leaves=leaves))
        assert reported[0] == 0
