"""Forwards requests for a bank to the worker that holds it.

It is the outermost middleware and reads only the bank's id: the worker that answers also guards, counts and logs.
Bodies and responses are streamed. A header names the client of a forwarded request; it is trusted only at the worker's
own socket, which is in a folder that other users can't enter.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import anyio
import httpx
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everthread.server.path_segments import API_PREFIX
from everthread.server.people.trusted_header import PEER
from everthread.server.problems import RETRY_AFTER_S, Problem
from everthread.server.request_guard import (
    MAX_FILE_BYTES,
    check_framing,
    raw_path,
    with_body_limit,
    with_security_headers,
)
from everthread.server.workers.bank_leases import BankLeases

log = logging.getLogger("everthread.server")

FORWARDED_HEADER = b"everthread-for"  # names the client of a forwarded request
FORWARDED_FIELDS = ("client", "server", "scheme", PEER)  # of the scope
BANKS_PATH = [*API_PREFIX.split("/"), "banks"]
HOP_BY_HOP_HEADERS = {  # headers that apply to one connection only (RFC 9110, 7.6.1)
    *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade", b"expect"),
    FORWARDED_HEADER,
}
RESPONSE_HOP_BY_HOP_HEADERS = HOP_BY_HOP_HEADERS | {b"transfer-encoding", b"date"}  # uvicorn adds its own
MAX_TRIES = 20  # to reach an owner
RETRY_DELAY_S = 0.05


class ClientDisconnected(Exception):
    """Raised if the client disconnects before its request has arrived completely."""


class WorkerProxyMiddleware:
    """Forwards a request to the worker that holds its bank; without several workers it does nothing."""

    def __init__(self, app: ASGIApp, leases: BankLeases, body_timeout_s: float) -> None:
        """Wrap an application.

        Args:
            app: the next application.
            leases: the leases of this process.
            body_timeout_s: as in `Settings`.
        """
        self.app, self.leases, self.body_timeout_s = app, leases, body_timeout_s
        self._transports: dict[Path, httpx.AsyncHTTPTransport] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.leases.own_socket is None:
            await self.app(scope, receive, send)
            return
        if (scope.get("server") or ("",))[0] == str(self.leases.own_socket):
            _apply_forwarded(scope)
        try:
            was_forwarded = await self._forward(scope, receive, send)
        except Problem as problem:
            log.warning("a request was not forwarded: %s", problem.name)
            await problem.response()(scope, receive, with_security_headers(send))
        else:
            if not was_forwarded:
                await self.app(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Forward a request completely. Return whether it was forwarded.

        Raises:
            Problem: if the other worker can't be reached.
        """
        if (bank := bank_from_path(scope)) is None:
            return False
        check_framing(Headers(scope=scope))
        for _ in range(MAX_TRIES):
            if (owner := self.leases.find_owner(bank)) is None:
                return False
            try:
                await self._forward_to(owner, scope, receive, send)
            except httpx.ConnectError:
                if not self.leases.reclaim(bank, owner):
                    await anyio.sleep(RETRY_DELAY_S)
            else:
                return True
        raise _unavailable("the worker that holds this bank can't be reached; try again")

    async def _forward_to(self, owner: Path, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the owner answer a request, until the client disconnects.

        Raises:
            httpx.ConnectError: if the owner can't be reached; nothing of the request was read.
            Problem: if the owner ends before it responds, or the body is too large or too slow.
        """
        body = ForwardedBody(with_body_limit(receive, MAX_FILE_BYTES, self.body_timeout_s))
        failure: httpx.ConnectError | Problem | None = None  # raised after the group, which would wrap it

        async with anyio.create_task_group() as tasks:

            async def answer() -> None:
                nonlocal failure
                try:
                    await self._answer(owner, scope, body, send)
                except ClientDisconnected:
                    pass
                except (httpx.ConnectError, Problem) as error:
                    failure = error
                tasks.cancel_scope.cancel()

            tasks.start_soon(answer)
            await body.wait_until_disconnect()
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _answer(self, owner: Path, scope: Scope, body: ForwardedBody, send: Send) -> None:
        try:
            response = await self._transport_to(owner).handle_async_request(_request(scope, body))
        except httpx.ConnectError:
            raise
        except httpx.TransportError:
            raise _unavailable(
                "the worker that handled this request has ended; check what was saved, and try again"
            ) from None
        assert isinstance(response.stream, httpx.AsyncByteStream)
        try:
            headers = [
                header for header in response.headers.raw if header[0].lower() not in RESPONSE_HOP_BY_HOP_HEADERS
            ]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for chunk in response.stream:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except httpx.TransportError:
            pass  # the owner has ended: uvicorn closes the connection of an incomplete response
        finally:
            await response.stream.aclose()

    def _transport_to(self, owner: Path) -> httpx.AsyncHTTPTransport:
        """Return the transport to a worker. It connects for each request; an idle connection may just be closing."""
        if owner not in self._transports:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            self._transports[owner] = httpx.AsyncHTTPTransport(verify=False, limits=limits, uds=str(owner))
        return self._transports[owner]


class ForwardedBody(httpx.AsyncByteStream):
    """The body of a forwarded request, which is sent to the other worker as it arrives."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._completed = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        is_complete = False
        while not is_complete:
            message = _require_connected(await self._receive())
            is_complete = not message.get("more_body", False)
            if chunk := message.get("body", b""):
                yield chunk
        self._completed.set()

    async def wait_until_disconnect(self) -> None:
        """Wait until the body is complete and the client has disconnected."""
        await self._completed.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _require_connected(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return message


def bank_from_path(scope: Scope) -> str | None:
    """Return the bank that a path names, decoded as by `EncodedSlashMiddleware`."""
    parts = [unquote(part) for part in raw_path(scope).decode("latin-1").partition("?")[0].split("/")]
    return parts[len(BANKS_PATH)] if parts[: len(BANKS_PATH)] == BANKS_PATH and len(parts) > len(BANKS_PATH) else None


def _request(scope: Scope, body: ForwardedBody) -> httpx.Request:
    """Build the same request for another worker."""
    headers = [header for header in scope["headers"] if header[0].lower() not in HOP_BY_HOP_HEADERS]
    headers.append((FORWARDED_HEADER, json.dumps({name: scope.get(name) for name in FORWARDED_FIELDS}).encode()))
    target = raw_path(scope) + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    return httpx.Request(scope["method"], "http://worker", headers=headers, stream=body, extensions={"target": target})


def _apply_forwarded(scope: Scope) -> None:
    """Restore the client that a forwarded request names."""
    for name, value in scope["headers"]:
        if name == FORWARDED_HEADER:
            fields = json.loads(value)
            for field in FORWARDED_FIELDS:
                scope[field] = tuple(fields[field]) if isinstance(fields.get(field), list) else fields.get(field)
    scope["headers"] = [header for header in scope["headers"] if header[0] != FORWARDED_HEADER]


def _unavailable(detail: str) -> Problem:
    return Problem(503, "busy", detail, {"Retry-After": str(RETRY_AFTER_S)})
