"""Logs as JSON, one object a line on standard error: each request, its outcome and its duration.

They contain nothing that was said: no text, query or body, and no message of an unexpected error, which may quote its
input. A bank is identified by the beginning of the SHA-256 of its id, as in receipts: with the id its entries can be
found; without it, one sees only which entries belong to the same bank.
"""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from copy import copy
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everthread.common.json_logs import JSONFormatter
from everthread.errors import BankDamaged, BankMoved, BankTooNew, StoreError
from everthread.server import path_segments
from everthread.server.metrics import Metrics

access_log = logging.getLogger("everthread.access")

LEVELS = ("debug", "info", "warning", "error", "critical")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
ERRORS_OF_BANKS = (BankDamaged, BankMoved, BankTooNew)
UNKNOWN_ROUTE = "-"  # the label of unknown paths, so that clients can't create labels


def install(level: str) -> None:
    """Make all loggers of this process write JSON, from this level on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_BankFormatter())
    handler.addFilter(_is_no_cancellation)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("everthread").setLevel(level.upper())
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of each attempt to reach a database that is down


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Return False for what uvicorn logs of requests that a second signal cuts off."""
    error = record.exc_info[1] if record.exc_info else None
    is_traceback = record.getMessage().rstrip().endswith(CancelledError.__name__)
    return record.name != "uvicorn.error" or not (isinstance(error, CancelledError) or is_traceback)


class _BankFormatter(JSONFormatter):
    """Writes errors that name a bank, or the file of one, without its name."""

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(arguments := record.args, tuple):
            record = copy(record)  # which other handlers write as well
            record.args = tuple(map(_describe, arguments))
        return super().format(record)


def _describe(argument: object) -> object:
    """Describe an error of a bank by the system's own words for it, or its type, and the bank's digest."""
    if not isinstance(argument, StoreError) or not (argument.bank or isinstance(argument, ERRORS_OF_BANKS)):
        return argument
    cause = argument.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        reason = f"[Errno {cause.errno}] {cause.strerror}"  # without the path, which names the bank
    else:
        reason = str(cause or type(argument).__name__).strip().partition("\n")[0]
    return f"{reason} (bank {hash_bank_id(argument.bank)})" if argument.bank else reason


def hash_bank_id(bank: str) -> str:
    """Return the digest that identifies a bank in logs."""
    return sha256(bank.encode()).hexdigest()[:16]


class AccessLogMiddleware:
    """Counts and logs every request, by its route and not by its path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started_at, status, streams = time.perf_counter(), 500, False

        async def observe_and_send(message: Message) -> None:
            nonlocal status, streams
            if message["type"] == "http.response.start":
                status = message["status"]
                streams = (b"content-type", b"text/event-stream") in (
                    (name.lower(), value.partition(b";")[0]) for name, value in message["headers"]
                )
                self.metrics.streams.inc(streams)
            await send(message)

        try:
            await self.app(scope, receive, observe_and_send)
        finally:
            self.metrics.streams.dec(streams)
            self._record_request(scope, status, time.perf_counter() - started_at)

    def _record_request(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_template(scope)
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN_ROUTE
        self.metrics.requests.labels(route, method, status).inc()
        self.metrics.durations.labels(route, method).observe(seconds)
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        if (bank := scope.get("path_params", {}).get("bank")) is not None:
            fields["bank"] = hash_bank_id(path_segments.decode_segment(bank))
        access_log.info("request", extra={"fields": fields})


def route_template(scope: Scope) -> str:
    """Return the route of a request as it is declared: /api/v1/banks/{bank}/lines."""
    return str(getattr(scope.get("route"), "path", UNKNOWN_ROUTE))
