"""HTTP connections with timeouts, and a limit on their number.

uvicorn waits indefinitely for a request whose head never ends, and for a reader who has stopped reading. Enough of such
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
    """uvicorn's protocol with timeouts."""

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
        self._begun = False  # whether a request's head is incomplete
        self._head: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _without_delay(transport)
        if len(self.connections) > self.limits.max_connections and self._waiting:
            next(iter(self._waiting)).transport.abort()
        self._waiting[self] = None
        self._begin()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_answering:
            self._end()
        elif not self._begun:
            self._begin()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # this may start the next request
        if not self.is_answering:
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(self.limits.write_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _begin(self) -> None:
        self._begun = True
        self._head = self.loop.call_later(self.limits.head_timeout_s, self._too_slow)

    def _end(self) -> None:
        self._waiting.pop(self, None)
        self._begun = False
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        if not self.is_answering:
            self.transport.abort()


def _without_delay(transport: asyncio.Transport) -> None:
    """Send each write at once.

    A response's head and body are two writes, and the second would wait until the client has acknowledged the first, 40
    ms on Linux (Nagle's algorithm, RFC 896; delayed acknowledgements, RFC 1122). asyncio does this itself, but only for
    sockets that declare TCP as their protocol, and those that Python creates declare none.
    """
    taken = transport.get_extra_info("socket")
    if taken is not None and taken.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # it is gone already
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class ProtocolFactory:
    """Creates the protocol of each connection of a process for uvicorn."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.waiting: dict[TimeoutProtocol, None] = {}

    def __call__(self, **given: Any) -> TimeoutProtocol:
        return TimeoutProtocol(self.limits, self.waiting, **given)
