"""The page: a handful of files, read once. A request picks one of them by its name and never reaches the disk."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from everthread.errors import NotFound

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    kind: str
    content: bytes
    packed: bytes  # by gzip
    tag: str


def _read() -> dict[str, Asset]:
    found = {}
    for each in sorted((files(__package__) / "static").iterdir(), key=lambda file: file.name):
        suffix = each.name[each.name.rfind(".") :]
        if suffix in KINDS:
            content = each.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[each.name] = Asset(KINDS[suffix], content, gzip.compress(content, mtime=0), tag)
    return found


ASSETS = _read()


@router.get("/")
async def index(request: Request) -> Response:
    """The page itself."""
    return _sent(request, "index.html")


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """What the page is made of."""
    return _sent(request, name)


def _sent(request: Request, name: str) -> Response:
    if name not in ASSETS:
        raise NotFound(f"the page has no file {name!r}")
    asset = ASSETS[name]
    headers = {
        "Cache-Control": "no-cache",  # asked for again each time, and answered in a few bytes while it is the same
        "Content-Security-Policy": POLICY,
        "ETag": asset.tag,
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if asset.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.kind)
    return Response(asset.content, headers=headers, media_type=asset.kind)
