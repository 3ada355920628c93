"""HTTP connections with timeouts, and a limit on their number.

uvicorn waits indefinitely for a request whose head never ends, and for a client that has stopped reading. Enough such
connections would lock everyone out (slow loris). So each has a timeout, and when there are too many, the one that has
been idle for longest is closed.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one process's connections."""

    head_timeout_s: float = 10.0  # for a request's head, from its first byte or from the connection on
    idle_timeout_s: int = 30  # between two requests
    write_timeout_s: float = 60.0  # for a client that reads nothing of the response
    max_connections: int = 4096  # at a time; beyond them, idle ones are closed
    shutdown_timeout_s: int = 30  # for requests that are being answered at shutdown


class TimeoutProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with timeouts that close connections on which nothing happens."""

    def __init__(
        self,
        limits: ConnectionLimits,
        waiting: dict[TimeoutProtocol, None],
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.limits = limits
        self._waiting = waiting  # idle connections, the oldest first
        self._is_head_pending = False  # whether a request's head is incomplete
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """True while a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _disable_nagle(transport)
        if len(self.connections) > self.limits.max_connections and self._waiting:
            next(iter(self._waiting)).transport.abort()
        self._waiting[self] = None
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_answering:
            self._cancel_head_timer()
        elif not self._is_head_pending:
            self._start_head_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # this may start the next request
        if not self.is_answering:
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.limits.write_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _start_head_timer(self) -> None:
        self._is_head_pending = True
        self._head_timer = self.loop.call_later(self.limits.head_timeout_s, self._abort_if_head_pending)

    def _cancel_head_timer(self) -> None:
        self._waiting.pop(self, None)
        self._is_head_pending = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _abort_if_head_pending(self) -> None:
        if not self.is_answering:
            self.transport.abort()


def _disable_nagle(transport: asyncio.Transport) -> None:
    """Send each write at once.

    A response's head and body are two writes, and the second would wait until the client has acknowledged the first, 40
    ms on Linux (Nagle's algorithm, RFC 896; delayed acknowledgements, RFC 1122). asyncio does this itself, but only for
    sockets that declare TCP as their protocol, and those that Python creates declare none.
    """
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # the connection is closed already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class ProtocolFactory:
    """Creates the protocol of each connection of a process for uvicorn."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.waiting: dict[TimeoutProtocol, None] = {}

    def __call__(self, **kwargs: Any) -> TimeoutProtocol:
        return TimeoutProtocol(self.limits, self.waiting, **kwargs)
