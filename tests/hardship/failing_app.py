"""An app whose workers fail before they listen.

    python -c 'from hardship.failing_app import main; main("FLAG", "HOW")'

serves it with two workers. While the file FLAG exists, a worker that starts fails: HOW is `config`, `bug` or `killed`.
It is no script, because a class of the main module can't be passed to the workers.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from everthread.errors import ConfigError, EverthreadError
from everthread.server import logs, runner
from everthread.server.workers import supervisor, worker_start


@dataclass(frozen=True)
class FailingFactory:
    """Builds an app unless the flag exists."""

    flag: str
    how: str

    def __call__(self) -> ASGIApp:
        logs.install("info")
        if Path(self.flag).exists():
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "bug":
                raise ImportError("no module named zqx")
            with worker_start.report_failure():
                raise ConfigError("invalid zqx: got 1, expected 2")
        app = FastAPI()

        @app.get("/pid")
        async def pid() -> int:
            return os.getpid()

        return app


def main(flag: str, how: str) -> None:
    """Serve the app; print its address once it listens, or the error."""
    supervisor.RESTART_DELAY_S = 0.5
    logs.install("info")
    with runner.open_socket("127.0.0.1", 0, 2) as listener:
        url = runner.local_url(listener)
        try:
            runner.run(FailingFactory(flag, how), listener, workers=2, on_listening=lambda: print(url, flush=True))
        except EverthreadError as error:
            print(f"failed: {error}", file=sys.stderr, flush=True)
            sys.exit(2 if isinstance(error, ConfigError) else 1)
