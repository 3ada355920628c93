"""Reads the bodies of requests: after the key was checked, and without blocking other requests.

FastAPI parses a body before it runs a route's dependencies, and parses it on the event loop, where a few megabytes of
`[],[],…` block all other requests for a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from everthread.server.permissions import PermissionCheck

MAX_INLINE_JSON_BYTES = 32_000  # bytes of JSON that are parsed on the event loop: 3 ms at worst


class AuthFirstRoute(APIRoute):
    """A route that checks the key before it reads the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap FastAPI's own handler."""
        handle = super().get_route_handler()
        checks = [call for call in list_dependencies(self.dependant) if isinstance(call, PermissionCheck)]

        async def handle_checked(request: Request) -> Response:
            for check in checks:
                await check.check_async(request)
            request = BodyRequest(request.scope, request.receive)
            if self.body_field is not None:
                await request.body()  # here, because FastAPI answers 400 if the client disconnects while it reads
            return await handle(request)

        return handle_checked


def list_dependencies(dependant: Dependant) -> Iterator[object]:
    """Yield the dependencies of a route, and theirs."""
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from list_dependencies(dependency)


class BodyRequest(Request):
    """A request that parses a large body in a thread."""

    async def json(self) -> Any:
        """Return the parsed body.

        Raises:
            json.JSONDecodeError: if it is not JSON.
            UnicodeDecodeError: if it is not text.
            RecursionError: if it is nested too deeply.
        """
        body = await self.body()
        if len(body) <= MAX_INLINE_JSON_BYTES:
            return json.loads(body)
        return await run_in_threadpool(YieldingDecoder().parse, body)


class YieldingDecoder(json.JSONDecoder):
    """Decodes JSON with the scanner written in Python; the one in C doesn't let other threads run in between."""

    def __init__(self) -> None:
        super().__init__()
        self.scan_once = py_make_scanner(self)

    def parse(self, body: bytes) -> Any:
        """Parse a body, with the same result as `json.loads`."""
        return self.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
