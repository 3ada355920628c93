"""Lets one worker at a time change the conversations of a bank.

A lease (`bank_leases`) belongs to a whole worker, and under load its holders follow each other without a gap. A lock
belongs to one holder. Each bank has two files: only the holder of the first may wait for the second, so that holders
take turns. The system unlocks the files of a process that has ended (flock(2)).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

from everthread.common.undo import undo_on_error
from everthread.server.problems import Problem

try:
    import fcntl
except ImportError:  # Windows, where there is one worker
    fcntl = None  # type: ignore[assignment]

RETRY_DELAY_S = 0.002


class BankLocks:
    """The locks of one process. Thread-safe. A single process needs none."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create no locks yet.

        Args:
            folder: of the files, the same for all workers; None: there is one process.
        """
        self._folder = folder

    @contextmanager
    def hold(self, bank: str, timeout_s: float) -> Iterator[None]:
        """Hold a bank for the duration of the block.

        Args:
            bank: its id.
            timeout_s: how long to wait for others.

        Raises:
            Problem: 409 if others hold the bank for longer.
        """
        if self._folder is None:
            yield
            return
        path = self._folder / f"{sha256(bank.encode('utf-8', 'surrogatepass')).hexdigest()}.lock"
        deadline = time.monotonic() + timeout_s
        waiting = _lock(path.with_suffix(".next"), deadline)
        try:
            holding = _lock(path, deadline)
        finally:
            os.close(waiting)
        try:
            yield
        finally:
            os.close(holding)


def _lock(path: Path, deadline: float) -> int:
    """Lock a file, and return its descriptor, which unlocks it when it is closed. Raises Problem at the deadline."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    with undo_on_error(partial(os.close, descriptor)):
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise bank_busy() from None
                time.sleep(RETRY_DELAY_S)


def bank_busy() -> Problem:
    """Return the problem that others hold a bank for too long."""
    detail = "other processes are storing messages in this bank for too long; try again in a moment"
    return Problem(409, "bank-busy", detail, {"Retry-After": "1"})
