"""An app with routes that take their time: `python slow_app.py FOLDER LIMITS SETTINGS` serves it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import AsyncIterator

import anyio
from fastapi import FastAPI
from starlette.responses import StreamingResponse

from everthread.recipes.default import Default
from everthread.server import logs, runner
from everthread.server.app import create_app
from everthread.server.http_protocol import ConnectionLimits
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

PIECES = 10


def create_test_app(folder: str, settings: Settings) -> FastAPI:
    """Return the app with routes for tests.

    `/slow` streams for a second, `/quiet` begins and waits, `/silent` prints a line and waits, `/flood` streams more
    than any socket buffers, `/sleep` occupies a thread, and `/most` returns how many threads were occupied at a time.
    """
    app = create_app(Services(SQLiteStore(folder), HashEmbedder(64), None, Default()), settings, closes=True)

    @app.get("/slow")
    async def slow() -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            for number in range(PIECES):
                yield f"data: {number}\n\n"
                await anyio.sleep(0.1)

        return StreamingResponse(pieces(), media_type="text/event-stream")

    @app.get("/quiet")
    async def quiet() -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            yield "data: 0\n\n"
            await anyio.sleep(60)

        return StreamingResponse(pieces(), media_type="text/event-stream")

    @app.get("/silent")
    async def silent() -> None:
        print("asked", flush=True)
        await anyio.sleep(60)

    @app.get("/flood")
    async def flood() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(1000):
                yield b"x" * 100_000

        return StreamingResponse(pieces())

    held, most, lock = 0, 0, threading.Lock()

    @app.get("/sleep")
    def sleep() -> None:
        nonlocal held, most
        with lock:
            held += 1
            most = max(most, held)
        time.sleep(0.3)
        with lock:
            held -= 1

    @app.get("/most")
    async def at_most() -> int:
        return most

    return app


def main() -> None:
    folder, limits, settings = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    logs.install("info")
    with runner.open_socket("127.0.0.1", 0) as taken:
        runner.run(
            lambda: create_test_app(folder, Settings(**settings)),
            taken,
            limits=ConnectionLimits(**limits),
            on_listening=lambda: print(
                runner.local_url(taken), flush=True
            ),  # from then on a signal stops it gracefully
        )


if __name__ == "__main__":
    main()
