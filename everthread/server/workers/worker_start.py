"""Reports to the supervising process how a worker's start went: that it listens, or why it can't.

A worker writes a file into the folder that all processes of the server share, named by its process id. One that was
killed before it listened has written none.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everthread.errors import EverthreadError
from everthread.server.metrics import MULTIPROC_DIR_VARIABLE

LISTENING, FAILURE = ".listening", ".failure"
FAILED_STATUS = 1  # of the process


def report_listening() -> None:
    """Report that this worker accepts connections. Without several workers, nothing is reported."""
    if MULTIPROC_DIR_VARIABLE in os.environ:
        _path(os.getpid(), LISTENING).touch()


@contextmanager
def report_failure() -> Iterator[None]:
    """End this worker if the block raises an EverthreadError, which the supervising process shows instead."""
    try:
        yield
    except EverthreadError as error:
        if MULTIPROC_DIR_VARIABLE not in os.environ:
            raise
        _path(os.getpid(), FAILURE).write_bytes(pickle.dumps(error))
        raise SystemExit(FAILED_STATUS) from None


def has_listened(pid: int | None) -> bool:
    """Return whether a worker has accepted connections."""
    return _path(pid, LISTENING).exists()


def read_failure(pid: int | None) -> EverthreadError | None:
    """Return the error that a worker has reported, if any."""
    path = _path(pid, FAILURE)
    return pickle.loads(path.read_bytes()) if path.exists() else None  # other users can't write there


def clear(pid: int | None) -> None:
    """Remove what a worker has reported, because another may get its process id."""
    for suffix in (LISTENING, FAILURE):
        _path(pid, suffix).unlink(missing_ok=True)


def _path(pid: int | None, suffix: str) -> Path:
    return Path(os.environ[MULTIPROC_DIR_VARIABLE], f"{pid}{suffix}")
