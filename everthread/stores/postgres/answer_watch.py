"""Ends the calls to a server that is suspended: it keeps its connections, but answers none.

A call may take long, such as the index of a large bank, so a limit on its time would be arbitrary. If one takes long,
the server is asked for another connection instead. A server that doesn't complete that is suspended, and the
connections of such calls are shut down. They then end as with a server that was killed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from everthread.common.fork_safety import register

Connection = psycopg.Connection[Any]

PATIENCE_S = 60.0  # a call that takes longer is rare
CHECK_EVERY_S = 10.0
JOIN_TIMEOUT_S = 1.0  # for a thread that ends, unless another call has begun
CONNECT_TIMEOUT_S = 30  # a server that is up answers, if only to refuse, but a busy one may take seconds


class AnswerWatch:
    """Watches the connections of one database while calls use them. Thread-safe.

    Its thread runs while there are calls, and for some seconds after them, or until `close`.
    """

    def __init__(self, conninfo: str, login_timeout_s: int) -> None:
        """Watch nothing yet.

        Args:
            conninfo: the connection string of the database.
            login_timeout_s: how long a login may take by the URL.
        """
        self._conninfo, self._login_timeout_s = conninfo, login_timeout_s
        self.renew()
        register(self)

    def renew(self) -> None:
        """Watch nothing. Called in a forked process, whose parent has the calls and the thread."""
        self._lock = threading.Lock()
        self._begun: dict[Connection, float] = {}  # the connections in use, and since when
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def watch(self, db: Connection) -> Iterator[None]:
        """Watch a connection for the duration of the block."""
        begun, lock = self._begun, self._lock  # those of the process that begins the call
        with lock:
            begun[db] = time.monotonic()
            if self._thread is None:
                self._start()
        try:
            yield
        finally:
            with lock:
                begun.pop(db, None)

    def close(self) -> None:
        """End the thread, unless there are calls."""
        with self._lock:
            thread = None if self._begun else self._thread
            self._closing.set()
        if thread is not None:
            thread.join(JOIN_TIMEOUT_S)

    def _start(self) -> None:
        self._closing.clear()
        thread = threading.Thread(target=self._run, name="everthread-answer-watch", daemon=True)
        with suppress(RuntimeError):  # Python is shutting down, and starts no thread any more
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while True:
            self._closing.wait(CHECK_EVERY_S)
            with self._lock:
                self._closing.clear()
                if not self._begun:
                    self._thread = None
                    return
                late = self._list_late()
            if late and self._is_suspended():
                self._shut_down(late)

    def _list_late(self) -> list[Connection]:
        return [db for db, since in self._begun.items() if time.monotonic() - since > PATIENCE_S]

    def _is_suspended(self) -> bool:
        limit_s = max(CONNECT_TIMEOUT_S, self._login_timeout_s)
        try:
            psycopg.connect(self._conninfo, connect_timeout=limit_s).close()
        except psycopg.errors.ConnectionTimeout:
            return True
        except psycopg.Error:  # it refuses the connection, so that it answers, or it is down, which the calls notice
            pass
        return False

    def _shut_down(self, late: list[Connection]) -> None:
        """Shut connections down, except those whose calls have ended."""
        with self._lock:
            for db in late:
                if db in self._begun:
                    # An error means that the connection is broken already, which its call notices.
                    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(db.fileno())) as opened:
                        opened.shutdown(socket.SHUT_RDWR)
