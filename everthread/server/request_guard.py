"""Middleware that rejects malformed and forged requests, and adds security headers to every response.

It distinguishes routes only by patterns of their paths.

A page of another site that is open in the same browser can send requests here. It can't forge the Host of a request or
its own Origin, and it can't send JSON without a preflight request; so these three are checked (OWASP, Cross-Site
Request Forgery Prevention; W3C, Fetch Metadata). If another name is made to resolve to this machine (DNS rebinding),
Host still contains that name.
"""

from __future__ import annotations

import re
import time
from asyncio import CancelledError
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everthread.errors import StoreUnavailable
from everthread.server import model_api
from everthread.server.authentication import Authenticator
from everthread.server.problems import RETRY_AFTER_S, Problem
from everthread.server.rate_limit import RateLimiter, client_address
from everthread.server.settings import Settings

APIS = ("/api/", "/v1/", "/bank/")  # paths to which no page of another site may link
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # names of this machine in any browser on it
MAX_TARGET_BYTES = 8_000  # of path and query: enough for two names of 200 characters, each of 12 bytes when escaped
MIN_BODY_BYTES_PER_S = 16_000  # bytes a second: a body may take as long as on a connection of this speed
HOST_PATTERN = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
JSON_TYPES = frozenset({"application/json"})
FORM_TYPES = frozenset({"multipart/form-data", "application/octet-stream", "application/sdp"})  # and of files
CURL_TYPES = frozenset({"application/x-www-form-urlencoded", ""})  # of JSON in the examples of Ollama's API
METHODS_WITH_BODY = {"POST", "PUT", "PATCH", "DELETE"}

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class BodyLimits(NamedTuple):
    """The bodies that a path accepts: their types and size. max_bytes None: the server's setting."""

    types: frozenset[str]
    max_bytes: int | None


# Paths, as sent, that accept more than JSON of the usual size.
FILE_ROUTES: dict[re.Pattern[str], BodyLimits] = {
    re.compile(r"/api/v1/characters"): BodyLimits(JSON_TYPES | {"image/png", "application/octet-stream"}, 8_000_000),
    re.compile(r"/api/v1/characters/[^/]+/picture"): BodyLimits(
        frozenset({"image/png", "application/octet-stream"}), 8_000_000
    ),
    re.compile(r"/api/v1/banks/[^/]+/import(/preview)?"): BodyLimits(
        JSON_TYPES | {"application/octet-stream", "application/x-ndjson", "application/zip"}, 1_000_000_000
    ),
    # Twilio's have some 500 bytes; 1,600 characters in %-escapes take at most 20,000.
    re.compile(r"/sms(/.*)?"): BodyLimits(frozenset({"application/x-www-form-urlencoded"}), 64_000),
}
DEFAULT_BODY_LIMITS = BodyLimits(JSON_TYPES, None)
MAX_FILE_BYTES = max(limits.max_bytes or 0 for limits in FILE_ROUTES.values())


class RequestGuard:
    """Rejects requests, limits their rate and size, and adds headers to responses."""

    def __init__(self, app: ASGIApp, settings: Settings, authenticator: Authenticator) -> None:
        self.app, self.settings, self.authenticator = app, settings, authenticator
        self.rate_limiter = RateLimiter(settings.requests_per_minute)
        self.proxied_hosts = {host.lower() for host in settings.allowed_hosts}
        self.known_hosts = {*LOCAL_HOSTS, settings.host.lower(), *self.proxied_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        send, headers, path = with_security_headers(send), Headers(scope=scope), decode_path(scope)
        origin = model_api.find_allowed_origin(headers, path, self.settings.proxy_origins)
        if origin is not None:
            send = model_api.with_origin_allowed(send, origin)
        try:
            max_body_bytes = self.check_request(scope, origin)
        except Problem as problem:
            await model_api.render_problem(problem, path)(scope, receive, send)
            return
        if origin is not None and scope["method"] == "OPTIONS":
            await model_api.answer_preflight(headers)(scope, receive, send)
            return
        await self._answer(scope, with_body_limit(receive, max_body_bytes, self.settings.body_timeout_s), send, path)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Let the app answer. If the shutdown doesn't wait for it any longer, say so."""
        has_begun = False

        async def note_and_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, note_and_send)
        except CancelledError:
            if not has_begun:
                await model_api.render_problem(server_stops(), path)(scope, receive, send)
            raise

    def check_request(self, scope: Scope, allowed_origin: str | None = None) -> int:
        """Check a request by its head.

        Args:
            scope: of the request.
            allowed_origin: the origin of a page that may send it; None for any other caller.

        Returns:
            The maximum size of its body in bytes.

        Raises:
            Problem: if the request is rejected.
        """
        headers = Headers(scope=scope)
        check_path(scope)
        host = self._check_host(headers, scope)
        if allowed_origin is None:
            self._check_origin(headers, host)
            self._check_fetch_site(headers, scope)
        self._check_rate(headers, scope)
        return self._check_body(headers, scope)

    def _check_host(self, headers: Headers, scope: Scope) -> str:
        """Return the host that the request names.

        The address to which the connection was made is accepted as well. After DNS rebinding, Host would contain a
        name, not this address.
        """
        host = headers.get("host", "").lower()
        match = HOST_PATTERN.fullmatch(host)
        if not match:
            raise Problem(
                400, "bad-host", f"invalid Host: got {host[:100]!r}, expected the name at which the server is reached"
            )
        local_address = (scope.get("server") or ("", 0))[0]
        if match[1] not in self.known_hosts and match[1].strip("[]") != local_address:
            reason = f"this server is not reached as {match[1][:100]!r}"
            remedy = "to allow the name, add it to server_hosts in the configuration"
            raise Problem(421, "wrong-host", f"{reason}; {remedy}")
        return host

    def _check_origin(self, headers: Headers, host: str) -> None:
        """Reject requests from pages of other sites, which browsers name in Origin."""
        for origin in headers.getlist("origin"):
            if not self._is_own_origin(origin.lower(), host):
                raise Problem(403, "foreign-origin", f"requests from pages at {origin[:100]!r} are refused")

    def _is_own_origin(self, origin: str, host: str) -> bool:
        scheme, _, address = origin.partition("://")
        source, target = HOST_PATTERN.fullmatch(address), HOST_PATTERN.fullmatch(host)
        if scheme not in DEFAULT_PORTS or not source or not target:
            return False
        default_port = DEFAULT_PORTS[scheme]
        port = int(source[2] or default_port)
        same = source[1] == target[1] and port == int(target[2] or default_port)
        return same or (source[1] in self.proxied_hosts and port == default_port)  # a proxy may send its own Host

    def _check_fetch_site(self, headers: Headers, scope: Scope) -> None:
        """Reject requests without an Origin that another site's page caused, such as an image or a form; links are
        allowed."""
        if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            return
        link = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        if not link or headers.get("sec-fetch-dest") != "document" or scope["path"].startswith(APIS):
            raise Problem(403, "foreign-origin", "requests from pages of other sites are refused")

    def _check_rate(self, headers: Headers, scope: Scope) -> None:
        if not self.settings.requests_per_minute:
            return
        caller = client_address(scope)
        with suppress(StoreUnavailable):  # reported when the caller is authenticated
            if (key := self.authenticator.find_key(headers)) is not None:
                caller = f"key {key.name}"
            elif (account := self.authenticator.find_account(HTTPConnection(scope))) is not None:
                caller = f"account {account.name}"
        wait_s = self.rate_limiter.acquire(caller, time.monotonic())
        if wait_s:
            detail = f"more than {self.settings.requests_per_minute} requests per minute; try again in {wait_s} s"
            raise Problem(429, "too-many-requests", detail, {"Retry-After": str(wait_s)})

    def _check_body(self, headers: Headers, scope: Scope) -> int:
        check_framing(headers)
        path = decode_path(scope)
        limits = self._find_body_limits(path)
        max_bytes = self.settings.max_body_bytes if limits.max_bytes is None else limits.max_bytes
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise Problem(400, "bad-length", f"invalid Content-Length: got {length[:40]!r}, expected a number of bytes")
        if int(length) > max_bytes:
            raise body_too_large(max_bytes)
        if scope["method"] in METHODS_WITH_BODY and (int(length) or "transfer-encoding" in headers):
            media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
            # A page of another site can send a form, but not without Origin.
            is_from_curl = "origin" not in headers and media_type in CURL_TYPES
            if media_type not in limits.types and not (is_from_curl and model_api.OLLAMA_PATH.fullmatch(path)):
                expected = " or ".join(sorted(limits.types))
                raise Problem(415, "wrong-type", f"invalid Content-Type: got {media_type[:100]!r}, expected {expected}")
        return max_bytes

    def _find_body_limits(self, path: str) -> BodyLimits:
        """Return the limits of the bodies that a path accepts."""
        if model_api.PATH.fullmatch(path):
            limit = self.settings.proxy_max_body_bytes
            if model_api.FILE_PATH.fullmatch(path):  # passed on piece by piece
                return BodyLimits(JSON_TYPES | FORM_TYPES, max(limit, MAX_FILE_BYTES))
            return BodyLimits(JSON_TYPES, limit)
        found = (limits for pattern, limits in FILE_ROUTES.items() if pattern.fullmatch(path))
        return next(found, DEFAULT_BODY_LIMITS)


def check_framing(headers: Headers) -> None:
    """Reject a body whose length is given in two ways, and close the connection (RFC 9112, 6.1).

    A proxy and this server could disagree where the next request begins.

    Raises:
        Problem: 400.
    """
    if "content-length" in headers and "transfer-encoding" in headers:
        detail = "Content-Length and Transfer-Encoding exclude each other; send one of them"
        raise Problem(400, "bad-length", detail, {"Connection": "close"})


def raw_path(scope: Mapping[str, object]) -> bytes:
    """Return the path as it was sent, in which an escaped slash doesn't separate segments."""
    raw = scope.get("raw_path")
    return raw if isinstance(raw, bytes) else str(scope["path"]).encode()


def decode_path(scope: Scope) -> str:
    """Return the path as it was sent, as text."""
    return raw_path(scope).partition(b"?")[0].decode("latin-1")


def check_path(scope: Mapping[str, object]) -> None:
    """Reject a path that is too long, or that a proxy and this server could interpret differently.

    Raises:
        Problem: 400 or 414.
    """
    target = raw_path(scope)
    query = scope.get("query_string", b"")
    if len(target) + len(query if isinstance(query, bytes) else b"") > MAX_TARGET_BYTES:
        raise Problem(414, "path-too-long", f"path and query are longer than {MAX_TARGET_BYTES:,} bytes")
    if not target.startswith(b"/"):
        raise Problem(400, "bad-path", "the path must begin with /")
    for segment in target.partition(b"?")[0].split(b"/"):
        name = unquote_to_bytes(segment)
        if name in (b".", b"..") or b"\x00" in name:
            raise Problem(400, "bad-path", "no segment of the path may be . or .. or contain NUL")
        try:
            name.decode()
        except UnicodeDecodeError:
            raise Problem(400, "bad-path", "the path is not UTF-8; escape its bytes as in %C3%A9") from None


def body_too_large(max_bytes: int) -> Problem:
    """Return the problem of a body of more than `max_bytes` bytes."""
    return Problem(413, "too-large", f"the body has more than {max_bytes:,} bytes; send less, or in parts")


def server_stops() -> Problem:
    """Return the problem that the server ends before it has answered."""
    detail = "the server was stopped before it could answer; what was stored so far remains. Send the request again"
    return Problem(503, "stopping", detail, {"Retry-After": str(RETRY_AFTER_S)})


def with_security_headers(send: Send) -> Send:
    """Return a `send` that adds headers for the browser to every response."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


def with_body_limit(receive: Receive, max_bytes: int, timeout_s: float) -> Receive:
    """Return a `receive` that limits the size of the body and the time that it takes.

    Args:
        receive: of the request.
        max_bytes: of the body.
        timeout_s: for the body, plus the time that it needs at MIN_BODY_BYTES_PER_S.

    Raises:
        Problem: 413 or 408, from the returned function.
    """
    received_bytes, is_complete, started_at = 0, False, 0.0

    async def receive_limited() -> Message:
        nonlocal received_bytes, is_complete, started_at
        if is_complete:
            return await receive()
        started_at = started_at or time.monotonic()
        try:
            with anyio.fail_after(started_at + timeout_s + received_bytes / MIN_BODY_BYTES_PER_S - time.monotonic()):
                message = await receive()
        except TimeoutError:
            detail = f"the body did not arrive within {timeout_s:g} s; send it again"
            raise Problem(408, "too-slow", detail, {"Connection": "close"}) from None
        received_bytes += len(message.get("body", b""))
        if received_bytes > max_bytes:
            raise body_too_large(max_bytes)
        is_complete = not message.get("more_body", False)
        return message

    return receive_limited
