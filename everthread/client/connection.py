"""The connection to a server: sends requests, retries them if that is safe, and raises the errors that it reports."""

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
from everthread.client import decode
from everthread.common.lazy import Lazy
from everthread.common.retry import Retries, parse_retry_after
from everthread.common.tls import tls_context
from everthread.errors import BadInput, BadQuery, ConfigError, EverthreadError, NotFound, StoreError, StoreUnavailable
from everthread.stores.limits import check_storable

if TYPE_CHECKING:
    import httpx

API = "/api/v1"
READ_TIMEOUT_S = 60.0  # without a byte; the server sends at least a comment every 15 s
UPLOAD_TIMEOUT_S = 600.0  # until a file is stored: 100 MB holds about 690,000 lines, stored at 2,000 per second
CONNECT_TIMEOUT_S = 5.0
RETRY_DELAYS_S = (0.2, 0.5, 1.0, 2.0)  # about four seconds in all, as long as a restart takes
MAX_RETRY_AFTER_S = 30.0
MAX_SILENCES = 1  # after which a request is sent once more: each takes READ_TIMEOUT_S
GATEWAY_STATUSES = {502, 503, 504}
RETRYABLE_STATUSES = {429, *GATEWAY_STATUSES}
URN_PREFIX = "urn:everthread:"
PAGE_ITEMS = 500
JSON_TYPE, OCTET_STREAM = "application/json", "application/octet-stream"

ERRORS_BY_NAME: dict[str, type[EverthreadError]] = {  # by name in lower case
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
    """A request body that is sent unchanged, with its Content-Type. Raises BadInput if the content is not bytes."""

    content: bytes
    media_type: str = OCTET_STREAM

    def __post_init__(self) -> None:
        if type(self.content) is not bytes:
            kind = type(self.content).__name__
            raise BadInput(f"invalid file: got {kind}, expected bytes; read them with Path(...).read_bytes()")


class Connection:
    """Sends requests to one server. Thread-safe. A forked process opens connections of its own."""

    def __init__(self, url: str, key: str | None) -> None:
        """Prepare the connection; nothing is sent yet.

        Args:
            url: the server's URL.
            key: an API key; not needed on the server's own machine.

        Raises:
            ConfigError: the URL or the key is invalid.
        """
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ConfigError(f"invalid URL: got {url!r}, expected a server's URL, such as http://127.0.0.1:7391")
        if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
            raise ConfigError(
                "invalid API key: it is blank, or contains control or non-ASCII characters; "
                "paste the key exactly as issued"
            )
        self.url = url.rstrip("/")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = Lazy(lambda: _open_http(headers))

    def close(self) -> None:
        """Close the connections. A later request opens others."""
        if (http := self._http.take()) is not None:
            http.close()

    def request(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """Send a request and return the parsed response, or None if it is empty.

        A write has an idempotency key, so it is performed once even if the request is repeated.

        Args:
            method: the HTTP method.
            path: the path below /api/v1.
            body: a JSON value or a FileBody.
            **query: query parameters; None omits a parameter.

        Raises:
            EverthreadError: the server reports an error.
            StoreUnavailable: no server responds.
            ConfigError: a key is missing or invalid, or the server is not an Everthread server.
        """
        response = self._send(self._build_request(method, path, body, query, uuid.uuid4().hex))
        return _parse_json(response.content, self.url) if response.content else None

    def list_items(self, path: str, **query: object) -> Iterator[Any]:
        """Yield the items of a list, fetched a page at a time. Raises the same errors as `request`."""
        after = None
        while True:
            page = self.request("GET", path, limit=PAGE_ITEMS, after=after, **query)
            yield from decode.items(page)
            if (after := page["next"]) is None:
                return

    def download(self, path: str, **query: object) -> bytes:
        """Return the bytes of a file. Raises the same errors as `request`."""
        return self._send(self._build_request("GET", path, None, query, "")).content

    @contextmanager
    def stream(
        self, method: str, path: str, body: object = None, *, idempotency_key: str | None = None, **query: object
    ) -> Iterator[httpx.Response]:
        """Send a request, and yield the response to be read as it arrives. Raises the same errors as `request`.

        Args:
            method: the HTTP method.
            path: the path below /api/v1.
            body: a JSON value or a FileBody.
            idempotency_key: the request's key, so that it can be repeated; None: a new key.
            **query: query parameters.
        """
        import httpx

        response = self._send(
            self._build_request(method, path, body, query, idempotency_key or uuid.uuid4().hex), stream=True
        )
        try:
            yield response
        except httpx.TransportError as error:
            raise StoreUnavailable(f"the response of {self.url} was cut off: {_describe(error)}") from error
        finally:
            response.close()

    def _build_request(
        self, method: str, path: str, body: object, query: Mapping[str, object], idempotency_key: str
    ) -> httpx.Request:
        import httpx

        headers = {} if method == "GET" else {"Idempotency-Key": idempotency_key}
        params: Any = {name: value for name, value in query.items() if value is not None}
        if (file := _encode_body(body)) is not None:
            headers["Content-Type"] = file.media_type
        read_timeout_s = UPLOAD_TIMEOUT_S if isinstance(body, FileBody) else READ_TIMEOUT_S
        return self._http.get(CONNECT_TIMEOUT_S).build_request(
            method,
            f"{self.url}{API}/{path}",
            params=params,
            headers=headers,
            content=file.content if file else None,
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, read=read_timeout_s),
        )

    def _send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        """Return a successful response; retry if the connection breaks or the server is busy."""
        import httpx

        retries, silences = Retries(RETRY_DELAYS_S), 0
        for attempt in count():
            try:
                response = self._http.get(CONNECT_TIMEOUT_S).send(request, stream=stream)
                if response.is_success:
                    return response
                response.read()
                response.close()
            except httpx.TransportError as error:
                silences += isinstance(error, httpx.ReadTimeout)
                is_final = silences > MAX_SILENCES or (isinstance(error, httpx.ConnectError) and not attempt)
                if is_final or not retries.wait():
                    raise unreachable_error(self.url, error) from error
                continue
            document = _parse_document(response)
            is_temporary = (
                response.status_code in RETRYABLE_STATUSES or document.get("type") == f"{URN_PREFIX}in-progress"
            )
            requested_s = parse_retry_after(response.headers.get("Retry-After", ""))
            if not is_temporary or not retries.wait(min(requested_s, MAX_RETRY_AFTER_S)):
                raise build_error(response.status_code, document, self.url)
        raise AssertionError("the last attempt returns or raises")


def _open_http(headers: Mapping[str, str]) -> httpx.Client:
    import httpx  # here, so that programs without a server don't load an HTTP client

    return httpx.Client(headers=headers, verify=tls_context())


def unreachable_error(url: str, error: httpx.TransportError) -> StoreUnavailable:
    """Build the error of a server that doesn't answer."""
    import httpx

    if isinstance(error, httpx.ReadTimeout):
        silent_s = error.request.extensions["timeout"]["read"]
        return StoreUnavailable(
            f"{url} accepted a request and sent nothing for {silent_s:g} s. It may have stored what it was sent. Check "
            "the server's log, and whether the machine is suspended or overloaded; then read the bank, and try again"
        )
    remedy = "start one with `everthread serve`, or give the URL of a running one"
    return StoreUnavailable(f"no server answers at {url} ({_describe(error)}); {remedy}")


def iter_rows(response: httpx.Response) -> Iterator[str]:
    """Yield the rows of a response as they arrive.

    Rows end with a line feed only: lines of a conversation may contain other Unicode line breaks.
    """
    rest = b""
    for part in response.iter_bytes():
        *rows, rest = (rest + part).split(b"\n")
        yield from (row.decode() for row in rows)
    if rest:
        yield rest.decode()


def build_path(*names: str | int) -> str:
    """Build a path in which each name is one segment.

    Raises:
        BadQuery: a name can't be a segment, such as `..`, which would address a bank instead of its session.
    """
    return "/".join(map(_quote_segment, names))


def _quote_segment(name: str | int) -> str:
    if (text := str(name)) in ("", ".", ".."):
        raise BadQuery(f"{name!r} can't be part of a URL; use the command line on the machine that stores the banks")
    return quote(check_storable(text, "a name"), safe="")


def build_error(status: int, document: Mapping[str, Any], url: str) -> EverthreadError:
    """Build the error that the library itself would raise from a server's problem document."""
    detail = document.get("detail")
    if not isinstance(detail, str) or not str(document.get("type")).startswith(URN_PREFIX):
        if status in GATEWAY_STATUSES:
            what = f"{url} responded with {status}, as a reverse proxy does whose server is down"
            return StoreUnavailable(f"{what}; start the server with `everthread serve`, or check the URL")
        return ConfigError(f"{url} responded with {status} and is not an Everthread server; check the URL")
    kind_by_name = ERRORS_BY_NAME.get(str(document["type"]).removeprefix(URN_PREFIX).replace("-", ""))
    default = BadInput if status < 500 else StoreError
    kind = kind_by_name or ERRORS_BY_STATUS.get(status, default)
    message, path, values = (document.get(name) for name in ("message", "path", "values"))
    where, remedy, option, reason = (str(document.get(name) or "") for name in ("where", "remedy", "option", "reason"))
    if issubclass(kind, errors.ModelError):
        return kind(detail, reason=reason)
    return kind(
        message if isinstance(message, str) else detail,
        path=None if path is None else str(path),
        where=where,
        remedy=remedy,
        option=option,
        reason=reason,
        values=values if isinstance(values, dict) else None,
    )


def _encode_body(body: object) -> FileBody | None:
    """Encode a body as JSON, unless it is a file or None."""
    return body if body is None or isinstance(body, FileBody) else FileBody(json.dumps(body).encode(), JSON_TYPE)


def _parse_document(response: httpx.Response) -> Mapping[str, Any]:
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _parse_json(content: bytes, url: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        raise ConfigError(f"{url} did not return JSON; check that the URL is that of an Everthread server") from None


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__
