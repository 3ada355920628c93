"""Requests that outlive the server: each is repeated under its idempotency key until it is answered."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from everthread.client.connection import Connection, iter_rows
from everthread.client.reply import Event, parse_events
from everthread.errors import BadQuery, EverthreadError, NotFound, StoreUnavailable

PATIENCE_S = 180.0  # for an answer; a server starts in seconds, also on a busy machine
WAIT_S = 0.2  # before a request is repeated
_VARYING = re.compile(r"'[^']*'|\d+")  # names and numbers, in which refusals of one kind differ

Answer = TypeVar("Answer")


@dataclass
class Calls:
    """The answers that all clients got, and how long they took. Thread-safe.

    times has a row (name, seconds since the start, milliseconds) of each call that was answered at the first attempt.
    errors are answers that a working server never gives; refusals are its answers that something can't be done now.
    """

    started_at: float = field(default_factory=time.monotonic)
    count: Counter[str] = field(default_factory=Counter)
    times: list[tuple[str, float, float]] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    repeated: int = 0  # calls that were answered after an interruption
    blocked: int = 0  # calls that were repeated under a new key, because the old one counted as in progress
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started_at

    def add(self, name: str, seconds: float, attempts: int) -> None:
        """Count a call that was answered."""
        with self._lock:
            self.count[name] += 1
            if attempts == 1:
                self.times.append((name, self.elapsed_s(), 1000 * seconds))
            else:
                self.repeated += 1

    def add_error(self, name: str, error: EverthreadError) -> None:
        """Count a call that failed."""
        with self._lock:
            text = f"{name}: {type(error).__name__}: {str(error)[:200]}"
            if isinstance(error, BadQuery | NotFound):
                self.refusals[_VARYING.sub("…", text)] += 1
            else:
                self.errors[text] += 1

    def add_blocked(self) -> None:
        """Count a call whose idempotency key counted as in progress."""
        with self._lock:
            self.blocked += 1


class PatientConnection:
    """Sends requests, and repeats those that were interrupted."""

    def __init__(self, url: str, calls: Calls) -> None:
        """Prepare the connection to a server at a URL."""
        self.calls = calls
        self._connection = Connection(url, None)

    def send(self, name: str, method: str, path: str, body: object = None, **query: object) -> Any:
        """Send a request until it is answered, and return the answer.

        Args:
            name: under which the call is counted.
            method: the HTTP method.
            path: the path below /api/v1.
            body: a JSON value or a FileBody.
            **query: query parameters.

        Raises:
            EverthreadError: the server reports an error, or does not answer for PATIENCE_S.
        """

        def attempt(key: str) -> Any:
            with self._connection.stream(method, path, body, idempotency_key=key, **query) as response:
                content = response.read()
            return json.loads(content) if content else None

        return self._repeat(name, attempt)

    def follow(self, name: str, path: str, body: object, read: Callable[[Iterator[Event]], Answer]) -> Answer:
        """Send a request until the events of its answer were read, and return what `read` returns.

        Raises the same errors as `send`.
        """

        def attempt(key: str) -> Answer:
            with self._connection.stream("POST", path, body, idempotency_key=key) as response:
                return read(parse_events(iter_rows(response)))

        return self._repeat(name, attempt)

    def _repeat(self, name: str, attempt: Callable[[str], Answer]) -> Answer:
        key, attempts, end = uuid4().hex, 0, time.monotonic() + PATIENCE_S
        while True:
            attempts += 1
            started_at = time.monotonic()
            try:
                answer = attempt(key)
            except EverthreadError as error:
                in_progress = isinstance(error, BadQuery) and "is in progress" in str(error)
                if time.monotonic() > end or not (in_progress or isinstance(error, StoreUnavailable)):
                    self.calls.add_error(name, error)
                    raise
                if in_progress:
                    key = uuid4().hex
                    self.calls.add_blocked()
                time.sleep(WAIT_S)
            else:
                self.calls.add(name, time.monotonic() - started_at, attempts)
                return answer

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()
