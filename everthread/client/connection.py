"""The connection to a server: requests that are retried where that is safe, and problem documents as the library's
errors."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from everthread import errors
from everthread.common.retry import Retries, parse_retry_after
from everthread.errors import BadInput, BadQuery, ConfigError, EverthreadError, NotFound, StoreError, StoreUnavailable
from everthread.stores.filters import check_storable

if TYPE_CHECKING:
    import httpx

API = "/api/v1"
READ_TIMEOUT_S = 60.0  # without a byte; the server sends at least a comment every 15 s
UPLOAD_TIMEOUT_S = (
    600.0  # seconds until a file is answered: 100 MB have some 690,000 lines, of which 2,000 a second are kept
)
CONNECT_TIMEOUT_S = 5.0
RETRY_DELAYS_S = (0.2, 0.5, 1.0, 2.0)  # four seconds in all, as long as a restart takes
MAX_RETRY_AFTER_S = 30.0
RETRYABLE_STATUSES = {429, 502, 503, 504}
URN_PREFIX = "urn:everthread:"
PAGE_SIZE = 500  # items
JSON_TYPE, OCTET_STREAM = "application/json", "application/octet-stream"

ERRORS_BY_NAME: dict[str, type[EverthreadError]] = {  # by their names in lower case
    name.lower(): kind for name, kind in vars(errors).items() if isinstance(kind, type)
}
ERRORS_BY_STATUS: dict[int, type[EverthreadError]] = {
    **dict.fromkeys((401, 403, 421), ConfigError),
    404: NotFound,
    409: BadQuery,
    **dict.fromkeys((429, 502, 503, 504), StoreUnavailable),
}


@dataclass(frozen=True, slots=True)
class FileBody:
    """A request body that is sent as it is, with its Content-Type. Raises BadInput unless the content is bytes."""

    content: bytes
    kind: str = OCTET_STREAM

    def __post_init__(self) -> None:
        if type(self.content) is not bytes:
            kind = type(self.content).__name__
            raise BadInput(f"invalid file: got {kind}, expected bytes; read them with Path(...).read_bytes()")


class Connection:
    """Sends requests to one server. Thread-safe."""

    def __init__(self, url: str, key: str | None) -> None:
        """Args:
            url: of the server.
            key: et_…; not needed on the server's own machine.

        Raises:
            ConfigError: for an invalid URL or key.
        """
        import httpx  # here, so that programs without a server don't load a web client

        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"invalid url: got {url!r}, expected a server's such as http://127.0.0.1:7391")
        if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
            raise ConfigError(
                "invalid API key: it contains whitespace or non-ASCII characters; paste the key exactly as issued"
            )
        self.url = url.rstrip("/")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(headers=headers)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """Send a request and return the parsed response, or None if it is empty.

        A write has an idempotency key of its own, so that it is done once however often it is repeated.

        Args:
            method: of HTTP.
            path: below /api/v1.
            body: a JSON value or a FileBody.
            **query: parameters; those that are None are left out.

        Raises:
            EverthreadError: what the server reports.
            StoreUnavailable: if no server responds.
            ConfigError: if a key is missing or invalid, or the server isn't one of Everthread.
        """
        answer = self._tried(self._request(method, path, body, query, uuid.uuid4().hex))
        return _parsed(answer.content, self.url) if answer.content else None

    def list_items(self, path: str, **query: object) -> Iterator[Any]:
        """Yield the items of a list, fetched a page at a time. Raises as `request`."""
        after = None
        while True:
            page = self.request("GET", path, limit=PAGE_SIZE, after=after, **query)
            yield from page["items"]
            if (after := page["next"]) is None:
                return

    def download(self, path: str, **query: object) -> bytes:
        """Return a file as it is. Raises as `request`."""
        return self._tried(self._request("GET", path, None, query, "")).content

    @contextmanager
    def stream(
        self, method: str, path: str, body: object = None, *, name: str | None = None, **query: object
    ) -> Iterator[httpx.Response]:
        """Send a request, and yield the response to be read as it arrives. Raises as `request`.

        Args:
            method: of HTTP.
            path: below /api/v1.
            body: a JSON value or a FileBody.
            name: the idempotency key, if the request may be repeated.
            **query: parameters.
        """
        import httpx

        response = self._tried(self._request(method, path, body, query, name or uuid.uuid4().hex), stream=True)
        try:
            yield response
        except httpx.TransportError as error:
            raise StoreUnavailable(f"the answer of {self.url} was cut off: {_told(error)}") from error
        finally:
            response.close()

    def _request(self, method: str, path: str, body: object, query: Mapping[str, object], name: str) -> httpx.Request:
        import httpx

        headers = {} if method == "GET" else {"Idempotency-Key": name}
        params: Any = {each: value for each, value in query.items() if value is not None}
        if (file := _file(body)) is not None:
            headers["Content-Type"] = file.kind
        silence = UPLOAD_TIMEOUT_S if isinstance(body, FileBody) else READ_TIMEOUT_S
        return self._http.build_request(
            method,
            f"{self.url}{API}/{path}",
            params=params,
            headers=headers,
            content=file.content if file else None,
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, read=silence),
        )

    def _tried(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        """Return a successful response; retry if the connection breaks or the server is temporarily overloaded."""
        import httpx

        retries = Retries(RETRY_DELAYS_S)
        for attempt in count():
            try:
                response = self._http.send(request, stream=stream)
                if response.is_success:
                    return response
                response.read()
                response.close()
            except httpx.TransportError as error:
                if (isinstance(error, httpx.ConnectError) and not attempt) or not retries.wait():
                    raise self._unreached(error) from error
                continue
            found = _document(response)
            busy = response.status_code in RETRYABLE_STATUSES or found.get("type") == f"{URN_PREFIX}in-progress"
            requested_s = parse_retry_after(response.headers.get("Retry-After", ""))
            if not busy or not retries.wait(min(requested_s, MAX_RETRY_AFTER_S)):
                raise build_error(response.status_code, found, self.url)
        raise AssertionError("the last try answers or raises")

    def _unreached(self, error: httpx.TransportError) -> StoreUnavailable:
        remedy = "start one with `everthread serve`, or give the url of one that runs"
        return StoreUnavailable(f"no server answers at {self.url} ({_told(error)}); {remedy}")


def iter_rows(answer: httpx.Response) -> Iterator[str]:
    """Yield the rows of a response as they arrive.

    Rows end with a line feed only: lines of a conversation may contain other line breaks of Unicode.
    """
    rest = b""
    for part in answer.iter_bytes():
        *whole, rest = (rest + part).split(b"\n")
        yield from (row.decode() for row in whole)
    if rest:
        yield rest.decode()


def build_path(*names: str | int) -> str:
    """Return a path of these names, each one segment.

    Raises:
        BadQuery: for a name that can't be a segment; `..` would name the parent, such as a bank instead of its session.
    """
    return "/".join(map(_segment, names))


def _segment(name: str | int) -> str:
    if (said := str(name)) in ("", ".", ".."):
        raise BadQuery(f"{name!r} can't be named to a server, for no address holds it; see to it where the banks are")
    return quote(check_storable(said, "a name"), safe="")


def build_error(status: int, document: Mapping[str, Any], url: str) -> EverthreadError:
    """Return what a server reports as the error that the library itself would raise."""
    detail = document.get("detail")
    if not isinstance(detail, str) or not str(document.get("type")).startswith(URN_PREFIX):
        return ConfigError(f"{url} responded with {status} and is not an Everthread server; check the url")
    named = ERRORS_BY_NAME.get(str(document["type"]).removeprefix(URN_PREFIX).replace("-", ""))
    usual = BadInput if status < 500 else StoreError
    kind = named or ERRORS_BY_STATUS.get(status, usual)
    if issubclass(kind, errors.ModelError) or not isinstance(document.get("message"), str):
        return kind(detail)
    parts = {name: str(document.get(name) or "") for name in ("where", "remedy", "option")}
    path = document.get("path")
    return kind(document["message"], path=None if path is None else str(path), **parts)


def _file(body: object) -> FileBody | None:
    """Return a body as it is sent."""
    return body if body is None or isinstance(body, FileBody) else FileBody(json.dumps(body).encode(), JSON_TYPE)


def _document(response: httpx.Response) -> Mapping[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _parsed(content: bytes, url: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        raise ConfigError(f"{url} did not return JSON; check that the url is that of an Everthread server") from None


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
