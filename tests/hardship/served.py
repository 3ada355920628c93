"""A server in a process of its own, seen from the tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hardship import PATIENCE, slow_app
from hardship.python import start_python


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
def start_command(*arguments: str, imports: bool = False) -> Iterator[Served]:
    """Start a command as `start_python` does, and yield its server once it prints its address."""
    process = start_python(
        *arguments,
        imports=imports,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
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
    with start_command(slow_app.__file__, str(folder), json.dumps(limits or {}), json.dumps(settings)) as running:
        yield running


def wait_until(holds: Any, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds. Raises AssertionError after some seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)
