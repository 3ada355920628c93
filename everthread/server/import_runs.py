"""Runs imports in threads of their own, and streams their progress as server-sent events.

An import stops after its batch of lines when its reader goes away; importing again adds the rest. Lines are embedded
afterwards, which goes on without a reader: they are found by their words already.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from everthread.errors import EverthreadError
from everthread.memory import Memory
from everthread.server.conversations.reply_stream import COMMENT, KEEP_ALIVE_S, encode_event
from everthread.server.problems import Problem, build_document, build_error_document
from everthread.transfer import importing
from everthread.transfer.importing import CheckedFile

log = logging.getLogger("everthread.server")

SHUTDOWN_PATIENCE_S = 10.0  # for the batches in progress
_LAST_EVENTS = ("done", "error")

Work = Callable[["ImportRun"], None]


class StoppedImport(Exception):
    """Raised in an import that is to stop."""


class ImportRun:
    """An import in progress."""

    def __init__(self, work: Work, check_caller: Callable[[], None] | None) -> None:
        """Describe an import, which `start` begins.

        Args:
            work: imports and reports; see `report` and `import_file`.
            check_caller: raises Problem once the caller may not go on; None if nothing is to be checked.
        """
        self._work, self._check_caller = work, check_caller
        self._events: asyncio.Queue[tuple[str, Mapping[str, Any]]] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._is_stored = self._is_ending = self._has_reader = False
        self.thread = threading.Thread(target=self._run, name="everthread import", daemon=True)

    def start(self) -> None:
        """Begin the import; its events are to be read from now on."""
        self._has_reader = True
        self.thread.start()

    def end(self) -> None:
        """Stop with the batch in progress, whatever it is."""
        self._is_ending = True

    async def read_events(self) -> AsyncIterator[bytes]:
        """Yield the events. If the reader goes away, the import stops."""
        try:
            while True:
                try:
                    name, data = await asyncio.wait_for(self._events.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield COMMENT
                    continue
                yield encode_event(name, data)
                if name in _LAST_EVENTS:
                    return
        finally:
            self._has_reader = False

    def check(self) -> None:
        """Check that the import may go on.

        Raises:
            StoppedImport: the import is to stop.
            Problem: its caller may not go on.
        """
        if self._is_ending or not (self._has_reader or self._is_stored):
            raise StoppedImport
        if self._check_caller is not None and not self._is_stored:
            self._check_caller()

    def report(self, name: str, data: Mapping[str, Any]) -> None:
        """Send an event. Raises as `check`."""
        self.check()
        self._send(name, data)

    def store(self, memory: Memory, source: CheckedFile) -> None:
        """Store the lines of a file that `importing.check_compatible` accepted, and report the counts."""
        before = memory.stats().lines
        report = self._count("progress", source.line_count)
        counts = importing.import_lines(memory, source, report, embed=False)
        self._is_stored = True
        self._send("stored", {**counts, "new": counts["lines"] - before})

    def embed(self, memory: Memory) -> None:
        """Embed the lines without a vector, and report the progress."""
        if pending := memory.stats().pending:
            memory.backlog.embed_missing(self._count("embedding", pending))

    def _count(self, name: str, total: int) -> Callable[[int], None]:
        """Return a function that reports how many of all lines are done; it is called with the number of new ones."""
        done = 0

        def count(number: int) -> None:
            nonlocal done
            done += number
            self.report(name, {"done": min(done, total), "total": total})

        count(0)
        return count

    def _run(self) -> None:
        try:
            self._work(self)
            self._send("done", {})
        except StoppedImport:
            pass
        except Problem as problem:
            self._send("error", build_document(problem.status, problem.name, problem.detail))
        except EverthreadError as error:
            self._send("error", build_error_document(error))
        except Exception:  # of any kind: without a last event, the client would wait for it
            log.exception("an import failed")
            self._send("error", build_document(500, "internal", "internal error; see the server's log"))

    def _send(self, name: str, data: Mapping[str, Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and has no readers
            self._loop.call_soon_threadsafe(self._events.put_nowait, (name, data))


class ImportRuns:
    """The imports in progress."""

    def __init__(self) -> None:
        self._runs: list[ImportRun] = []

    def start(self, run: ImportRun) -> AsyncIterator[bytes]:
        """Start an import; return its events."""
        self._runs = [other for other in self._runs if other.thread.is_alive()] + [run]
        run.start()
        return run.read_events()

    def close(self) -> None:
        """Stop all imports, and wait for their batches."""
        for run in self._runs:
            run.end()
        for run in self._runs:
            run.thread.join(SHUTDOWN_PATIENCE_S)
