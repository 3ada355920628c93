"""Records the system calls and SQLite statements of a function in a process of its own, which can be killed before any
of them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hardship import forked

CALLS = ("unlink", "fsync")


def record_steps(work: Callable[[], object], report: Path, last: int | None = None) -> list[str]:
    """Run `work` in a forked child; return its steps: "unlink NAME", "fsync NAME" and SQL statements.

    Args:
        work: the function.
        report: the file through which the child returns the steps.
        last: the number of steps before the child is killed; None to let it finish.
    """

    steps: list[str] = []
    connected: Callable[..., sqlite3.Connection] = sqlite3.connect

    def step(name: str) -> None:
        if len(steps) == last:
            report.write_text(json.dumps(steps))
            os.kill(os.getpid(), signal.SIGKILL)
        steps.append(name)

    def watched(call: str) -> Callable[..., Any]:
        done = getattr(os, call)

        def watching(of: Any, *more: Any, **named: Any) -> Any:
            step(f"{call} {Path(os.readlink(f'/proc/self/fd/{of}') if isinstance(of, int) else of).name}")
            return done(of, *more, **named)

        return watching

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        db = connected(*given, **named)
        db.set_trace_callback(step)
        return db

    def child() -> None:
        for call in CALLS:
            setattr(os, call, watched(call))
        sqlite3.connect = connect  # type: ignore[assignment]
        work()
        report.write_text(json.dumps(steps))

    ended = forked.exits_cleanly(forked.fork_child(child))
    assert ended == (last is None)
    found: list[str] = json.loads(report.read_text())
    return found
