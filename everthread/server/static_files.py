"""The page: its files, read once when the server starts. What is asked for is looked up by name in that table, so that
no path from outside reaches the file system."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from everthread.server.problems import Problem

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
PACKED = {".css", ".html", ".js", ".json", ".svg", ".webmanifest"}  # what gzip makes smaller


@dataclass(frozen=True, slots=True)
class File:
    """One file, as it goes out. etag is a hash of what is in it."""

    type: str
    body: bytes
    etag: str
    packed: bytes | None  # by gzip

    @classmethod
    def read(cls, path: Path) -> File:
        """A file of a known kind."""
        return cls.of(TYPES[path.suffix], path.read_bytes(), packs=path.suffix in PACKED)

    @classmethod
    def of(cls, type: str, body: bytes, *, packs: bool) -> File:
        """A file of this content; packs: whether gzip makes it smaller."""
        packed = gzip.compress(body, mtime=0) if packs else None
        return cls(type, body, f'"{sha256(body).hexdigest()[:32]}"', packed)

    def response(self, request: Request) -> Response:
        """The file, or that the browser has it already; packed if the browser can unpack it."""
        packed = self.packed if self.packed is not None and takes_gzip(request) else None
        etag = f'{self.etag[:-1]}-gzip"' if packed is not None else self.etag
        headers = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}  # asked for anew, not sent
        known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if etag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        if packed is not None:
            headers["Content-Encoding"] = "gzip"
        return Response(self.body if packed is None else packed, headers=headers, media_type=self.type)


def takes_gzip(request: Request) -> bool:
    """Whether Accept-Encoding names gzip, and not to say no."""
    for each in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def table(folder: Path) -> dict[str, File]:
    """The files of a folder, by name; none where there is no folder."""
    return {path.name: File.read(path) for path in folder.glob("*") if path.suffix in TYPES}


def router(folder: Path = FOLDER) -> APIRouter:
    """The routes of the page. They are no part of the API, and not in its description."""
    files, routes = table(folder), APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def index(request: Request) -> Response:
        return found(INDEX, request)

    @routes.api_route("/static/{name}", methods=["GET", "HEAD"])
    async def static(request: Request, name: str) -> Response:
        return found(name, request)

    def found(name: str, request: Request) -> Response:
        if name not in files:
            raise Problem(404, "not-found", "there is no such file")
        return files[name].response(request)

    return routes
