"""Connections: how long a client may take over what it sends, and how many may hold on to one.

uvicorn waits for ever for a request whose head began and never ends, and for a reader who has stopped reading. Whoever
opens enough of such connections would shut everybody else out (slow loris). So each has its time, and when there are
too many, the one that has waited longest without asking anything makes room.
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
    """Times in seconds."""

    head_timeout_s: float = 10.0  # for a request's head, from its first byte or from the connection on
    idle_timeout_s: int = 30  # between two requests
    write_timeout_s: float = 60.0  # for a reader who takes nothing of what waits for him
    max_connections: int = 4096  # at a time; beyond them, those go first that have not asked for anything
    shutdown_timeout_s: int = 30  # for what is being answered when the server is told to stop


class TimeoutProtocol(H11Protocol):
    """uvicorn's protocol with an end to its patience."""

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
        self._waiting = waiting  # connections on which nothing is asked just now, the oldest first
        self._begun = False  # whether a head has begun that has not ended
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
        super().on_response_complete()  # which may begin with the next request
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
    """Send each piece at once. An answer's head and its body are two writes, and the second would wait until the client
    has acknowledged the first, 40 ms on Linux (Nagle's algorithm, RFC 896; delayed acknowledgements, RFC 1122). asyncio
    does it by itself, but only for sockets that say that they are TCP's, and none says so that Python has made."""
    taken = transport.get_extra_info("socket")
    if taken is not None and taken.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # it is gone already
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class ProtocolFactory:
    """Makes the protocol of each connection of a process, as uvicorn asks for it."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.waiting: dict[TimeoutProtocol, None] = {}

    def __call__(self, **given: Any) -> TimeoutProtocol:
        return TimeoutProtocol(self.limits, self.waiting, **given)
