"""The page's files: read once, translated and compressed once, and served from memory.

Files are looked up by name in a table, so no path of a request reaches the file system. `StaticFiles` of the framework
would need a worker thread for every request, compress each response again, ignore `gzip;q=0`, and derive ETags from
modification times, which installers may set to a constant.

The index names scripts and style sheets below a folder for the version of all files, such as `/static/0123456789ab/`.
Browsers keep these without asking again. Without the version they ask each time.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from html import escape
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from everthread.server.page_languages import choose_language, escape_json, read_languages
from everthread.server.problems import Problem
from everthread.server.script_bundles import bundle_modules

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
PERMANENT = "max-age=31536000, immutable"  # a year
SERVICE_WORKER = "serviceworker.js"
WORDS = "languages/chosen.js"  # the words of the page, in the language of the request
CONTENT_TYPES = {  # by suffix; the table of the operating system may be incomplete or wrong
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
LOCALIZED: dict[str, Callable[[str], str]] = {  # templates with words, and what makes a text safe in each
    INDEX: escape,
    "offline.html": escape,
    "manifest.webmanifest": escape_json,
}
# Comments on lines of their own, those without quotes after code, which are in no string, and indentation: strings of
# several lines are lists of words. Without these the page is a sixth smaller.
_BLOCK_COMMENT = r"/\*(?:(?!\*/)[\s\S])*\*/[ \t]*"
LEFT_OUT = {
    ".css": re.compile(rf"^[ \t]*(?:{_BLOCK_COMMENT})?\n|^[ \t]+", re.MULTILINE),
    ".js": re.compile(rf"^[ \t]*(?://.*|{_BLOCK_COMMENT})?\n|^[ \t]+|(?<=[;,{{}}()\[\]]) // [^\"'`\n]*$", re.MULTILINE),
}
VERSIONED = re.compile(r'"/static/(?=[^"]+\.(?:css|js)")')  # in the index; modules name others relative to themselves
VERSION = re.compile(r"^[0-9a-f]{12}/")
COMPRESSIBLE = {".css", ".html", ".js", ".json", ".mjs", ".svg", ".webmanifest"}


@dataclass(frozen=True)
class StaticFile:
    """A response body with its content type, its ETag (a hash of the body), and its gzip form if it has one.

    Attributes:
        is_compressible: whether it has a gzip form.
        vary: names of the request headers on which the body depends.
    """

    content_type: str
    body: bytes
    etag: str
    is_compressible: bool
    vary: str = "Accept-Encoding"

    @cached_property
    def gzipped(self) -> bytes:
        """The gzip form. The first response with it compresses it, because a server would start later otherwise."""
        return gzip.compress(self.body, mtime=0)

    @classmethod
    def read(cls, path: Path, *, whole: bool) -> StaticFile:
        """Read a file, whose suffix must be one of `CONTENT_TYPES`. whole: with comments and blank lines too."""
        body = path.read_bytes()
        if path.suffix in LEFT_OUT and not whole:
            body = LEFT_OUT[path.suffix].sub("", body.decode()).encode()
        return cls.from_bytes(CONTENT_TYPES[path.suffix], body, compress=path.suffix in COMPRESSIBLE)

    @classmethod
    def from_bytes(cls, content_type: str, body: bytes, *, compress: bool) -> StaticFile:
        """Build a file of this content. compress: whether it has a gzip form as well."""
        return cls(content_type, body, f'"{sha256(body).hexdigest()[:32]}"', compress)

    @classmethod
    def localized(cls, content_type: str, text: str) -> StaticFile:
        """Build a file whose text is in the language of the request."""
        file = cls.from_bytes(content_type, text.encode(), compress=True)
        return replace(file, vary="Accept-Encoding, Accept-Language, Cookie")

    def response(self, request: Request, *, is_permanent: bool = False) -> Response:
        """Return the file, compressed if the client accepts gzip, or 304 if the client has it already.

        `no-cache` lets browsers store it, but they must revalidate it each time.

        Args:
            is_permanent: whether the address is that of this content for good.
        """
        is_gzipped = self.is_compressible and accepts_gzip(request)
        etag = f'{self.etag[:-1]}-gzip"' if is_gzipped else self.etag
        headers = {"ETag": etag, "Cache-Control": PERMANENT if is_permanent else "no-cache", "Vary": self.vary}
        known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
        if etag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        if is_gzipped:
            headers["Content-Encoding"] = "gzip"
        return Response(self.gzipped if is_gzipped else self.body, headers=headers, media_type=self.content_type)


def accepts_gzip(request: Request) -> bool:
    """Return whether Accept-Encoding allows gzip: named, or by `*`, and not with a weight of 0."""
    for encoding in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = encoding.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def load_files(folder: Path) -> dict[str, StaticFile]:
    """Read the files of known types in a folder and below, by their paths in it; an absent folder has none.

    The libraries, which are below, keep their comments, which contain their licences. The page's modules are joined
    into a few scripts.
    """
    paths = (path for path in folder.rglob("*") if path.suffix in CONTENT_TYPES)
    files = {path.relative_to(folder).as_posix(): StaticFile.read(path, whole=path.parent != folder) for path in paths}
    modules = {name: file.body.decode() for name, file in files.items() if name.endswith(".js") and "/" not in name}
    scripts = {
        name: StaticFile.from_bytes(CONTENT_TYPES[".js"], text.encode(), compress=True)
        for name, text in bundle_modules(modules).items()
    }
    return {name: file for name, file in files.items() if name not in modules} | scripts


def name_version(files: dict[str, StaticFile]) -> str:
    """Return a name for the content of all files: 12 hexadecimal digits."""
    return sha256("".join(f"{name}{files[name].etag}" for name in sorted(files)).encode()).hexdigest()[:12]


def localize(files: dict[str, StaticFile], *, is_shared: bool = False) -> dict[tuple[str, str], StaticFile]:
    """Build the files that depend on the language, by its code and their names. is_shared: as for `build_router`."""
    languages, localized = read_languages(), dict[tuple[str, str], StaticFile]()
    folder = f'"/static/{name_version(files)}/'
    for code, each in languages.items():
        language = each.on_server() if is_shared else each
        for name in LOCALIZED.keys() & files.keys():
            text = language.fill(files[name].body.decode(), LOCALIZED[name])
            if name == INDEX:
                text = VERSIONED.sub(folder, text)
            localized[code, name] = StaticFile.localized(files[name].content_type, text)
        localized[code, WORDS] = StaticFile.localized(CONTENT_TYPES[".js"], language.module(languages))
    return localized


def build_router(folder: Path = FOLDER, *, is_shared: bool = False) -> APIRouter:
    """Build the page's routes. They are not part of the API and not in its description.

    Args:
        folder: the folder with the files.
        is_shared: whether the page names the server wherever it is opened, not only on another machine.
    """
    files, router = load_files(folder), APIRouter(include_in_schema=False)
    version = f"{name_version(files)}/"

    @cache
    def localize_once() -> dict[tuple[str, str], StaticFile]:
        """Build the files at the first request: to read the languages takes 0.1 s, and a server would start later."""
        return localize(files, is_shared=is_shared)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def index(request: Request) -> Response:
        return respond(INDEX, request)

    @router.api_route(f"/{SERVICE_WORKER}", methods=["GET", "HEAD"])  # whose scope is the folder that it is in
    async def service_worker(request: Request) -> Response:
        return respond(SERVICE_WORKER, request)

    @router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
    async def static(request: Request, name: str) -> Response:
        return respond(name, request)

    def respond(path: str, request: Request) -> Response:
        name = VERSION.sub("", path)  # of any version: a page may be older than the server
        file, is_permanent = files.get(name), path.startswith(version)
        if name == WORDS or name in LOCALIZED:
            localized = localize_once()
            code = choose_language(request, {code: None for code, _ in localized})
            file, is_permanent = localized.get((code, name)), False
        if file is None:
            raise Problem(404, "not-found", "there is no such file")
        return file.response(request, is_permanent=is_permanent)

    return router
