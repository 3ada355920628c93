"""Names in paths. A bank is called `alice/captain-nemo`, and in a path it is one segment: alice%2Fcaptain-nemo."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import AfterValidator
from starlette.types import ASGIApp, Receive, Scope, Send

API_PREFIX = "/api/v1"
SLASH_PLACEHOLDER = "\x00"  # stands for a / within a segment while the router looks; no name holds one


class EncodedSlashMiddleware:
    """Takes a path apart before its escapes are undone, so that an escaped / does not part segments."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or quote(scope["path"]).encode()
            parts = raw.decode("latin-1").partition("?")[0].split("/")
            scope["path"] = "/".join(
                unquote(part).replace("/", SLASH_PLACEHOLDER) for part in parts
            )  # no copy: what the router
            # finds out stays in the scope, and whoever counts requests by their routes looks there
        await self.app(scope, receive, send)


def decode_segment(segment: str) -> str:
    """The name that a segment stands for."""
    return segment.replace(SLASH_PLACEHOLDER, "/")


PathSegment = Annotated[str, AfterValidator(decode_segment)]  # of a path, for a route: the name that it stands for
