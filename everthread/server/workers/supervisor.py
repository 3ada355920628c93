"""Supervises the worker processes of a server: replaces those that end, and stops if none can start."""

from __future__ import annotations

import logging
import signal
import time
from contextlib import suppress

from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from everthread.errors import EverthreadError
from everthread.server.workers import worker_start

log = logging.getLogger("everthread.server")

RESTART_DELAY_S = 5.0  # after a worker that could not start was replaced; the cause may last


class WorkerSupervisor(Multiprocess):
    """uvicorn's supervisor, which replaces workers that end. It stops if one can't start and no other one listens.

    Attributes:
        start_failure: why the server has stopped; None if a signal stopped it.
    """

    start_failure: EverthreadError | None = None
    _paused_until = 0.0

    def keep_subprocess_alive(self) -> None:
        if self.should_exit.is_set() or self.signal_queue or time.monotonic() < self._paused_until:
            return  # a signal may have ended the workers, too
        for process in self.processes:
            process.child_conn.close()  # or a worker that dies during a health check would only seem slow
        before = list(self.processes)
        super().keep_subprocess_alive()
        if self.should_exit.is_set():  # uvicorn itself has found one that failed
            self.start_failure = explain_end(next(each for each in self.processes if each.exitcode is not None))
            return
        replaced = [(old, new) for old, new in zip(before, self.processes, strict=True) if old is not new]
        for old, new in replaced:
            if not worker_start.has_listened(old.pid):
                self._handle_failed_start(explain_end(old))
            if self.start_failure is None:
                log.warning("worker %s has ended with %s; %s replaces it", old.pid, old.exitcode, new.pid)
            worker_start.clear(old.pid)

    def _handle_failed_start(self, error: EverthreadError) -> None:
        """Stop the server, or wait before the next replacement if a worker listens."""
        if any(each.exitcode is None and worker_start.has_listened(each.pid) for each in self.processes):
            self._paused_until = time.monotonic() + RESTART_DELAY_S
            log.error("a worker could not start, the others go on: %s", error)
        else:
            self.start_failure = self.start_failure or error
            self.should_exit.set()


def explain_end(process: Process) -> EverthreadError:
    """Return why a worker could not start."""
    if error := worker_start.read_failure(process.pid):
        return error
    status = process.exitcode or 0
    if status < 0:
        name = str(-status)
        with suppress(ValueError):
            name = signal.Signals(-status).name
        remedy = "if the machine has too little memory, choose fewer with --workers"
        return EverthreadError(f"worker {process.pid} was ended by {name} before it accepted connections; {remedy}")
    return EverthreadError(
        f"worker {process.pid} ended with {status} before it accepted connections; its error is above"
    )
