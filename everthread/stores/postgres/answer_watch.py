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
CONNECT_TIMEOUT_S = 5  # a server that is up answers at once, if only to refuse


class AnswerWatch:
    """Watches the connections of one database while calls use them. Thread-safe.

    Its thread runs while there are calls, and for some seconds after them.
    """

    def __init__(self, conninfo: str) -> None:
        """Watch nothing yet.

        Args:
            conninfo: the connection string of the database.
        """
        self._conninfo = conninfo
        self.renew()
        register(self)

    def renew(self) -> None:
        """Watch nothing. Called in a forked process, whose parent has the calls and the thread."""
        self._lock = threading.Lock()
        self._begun: dict[Connection, float] = {}  # the connections in use, and since when
        self._is_running = False

    @contextmanager
    def watch(self, db: Connection) -> Iterator[None]:
        """Watch a connection for the duration of the block."""
        begun, lock = self._begun, self._lock  # those of the process that begins the call
        with lock:
            begun[db] = time.monotonic()
            starts, self._is_running = not self._is_running, True
        if starts:
            threading.Thread(target=self._run, name="everthread-answer-watch", daemon=True).start()
        try:
            yield
        finally:
            with lock:
                begun.pop(db, None)

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_EVERY_S)
            with self._lock:
                if not self._begun:
                    self._is_running = False
                    return
                late = self._list_late()
            if late and self._is_suspended():
                self._shut_down(late)

    def _list_late(self) -> list[Connection]:
        return [db for db, since in self._begun.items() if time.monotonic() - since > PATIENCE_S]

    def _is_suspended(self) -> bool:
        try:
            psycopg.connect(self._conninfo, connect_timeout=CONNECT_TIMEOUT_S).close()
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
                    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(db.fileno())) as opened:
                        opened.shutdown(socket.SHUT_RDWR)
