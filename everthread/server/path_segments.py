"""Decodes names in paths. The bank `alice/captain-nemo` is one segment of a path: alice%2Fcaptain-nemo."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import AfterValidator
from starlette.types import ASGIApp, Receive, Scope, Send

API_PREFIX = "/api/v1"
SLASH_PLACEHOLDER = "\x00"  # replaces an escaped slash while the request is routed; no name contains it


class EncodedSlashMiddleware:
    """Splits a path before its escapes are decoded, so that an escaped slash doesn't separate segments."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or quote(scope["path"]).encode()
            parts = raw.decode("latin-1").partition("?")[0].split("/")
            # In place: the router adds the route to this scope, where logs and metrics read it.
            scope["path"] = "/".join(unquote(part).replace("/", SLASH_PLACEHOLDER) for part in parts)
        await self.app(scope, receive, send)


def decode_segment(segment: str) -> str:
    """Return the name that a segment encodes."""
    return segment.replace(SLASH_PLACEHOLDER, "/")


PathSegment = Annotated[str, AfterValidator(decode_segment)]  # a parameter of a route: the decoded name
