"""A server in a process of its own, with a route that takes its time: `python served.py FOLDER LIMITS SETTINGS`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
PATIENCE = 120.0  # seconds; a busy machine is slow


def create_test_app(folder: str, settings: Settings) -> FastAPI:
    """Return the app with routes for tests.

    `/slow` streams for a second, `/quiet` begins and waits, `/flood` streams more than any socket buffers, `/sleep`
    occupies a thread, and `/most` returns how many threads were occupied at a time.
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


class Served:
    """A running server. `log` holds its log once it has ended."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.port = int(url.rpartition(":")[2])
        self.log: list[dict[str, Any]] = []

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the server with a signal; return its exit status."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait until the server has stopped; return its exit status."""
        _, log = self.process.communicate(timeout=PATIENCE)
        self.log += [json.loads(row) for row in log.splitlines()]
        return self.process.returncode


@contextmanager
def start_command(*arguments: str) -> Iterator[Served]:
    """Start a command, and yield its server once it prints its address."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its workers are killed with it
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    if "http://" not in said:
        _, error = process.communicate(timeout=PATIENCE)
        raise AssertionError(error)
    served = Served(process, "http://" + said.partition("http://")[2].strip())
    try:
        yield served
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def serve_folder(folder: Path, limits: dict[str, float] | None = None, **settings: Any) -> Iterator[Served]:
    """Start a server for the banks of a folder, with these limits in seconds and these settings."""
    with start_command(__file__, str(folder), json.dumps(limits or {}), json.dumps(settings)) as running:
        yield running


def wait_until(holds: Any, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds. Raises AssertionError after some seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)


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
