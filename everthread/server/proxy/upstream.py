"""Passes requests on to the server of the language models, and its answers back, byte for byte."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import httpx
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from everthread import config
from everthread.common.urls import is_http_url
from everthread.errors import ConfigError
from everthread.llms.base import LLM
from everthread.llms.discovery import list_ollama_models, parse_ollama_host
from everthread.llms.errors import CONNECT_TIMEOUT_S
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.server.keys import KEY_PREFIX
from everthread.server.problems import Problem
from everthread.server.proxy.memory_block import BLOCK_ROLES, BlockRole
from everthread.server.services import Services
from everthread.server.settings import Settings

RawHeaders = Iterable[tuple[bytes, bytes]]

log = logging.getLogger("everthread.server")


class Target(NamedTuple):
    """A path, with its query, as the client sent it.

    Attributes:
        path: below the base URL of the upstream.
        is_root: whether it is below the root of that server instead, as Ollama's own API is.
    """

    path: bytes
    is_root: bool = False


HOP_BY_HOP_HEADERS = frozenset(  # headers that apply to one connection only (RFC 9110, 7.6.1)
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"),
    )
)
KEY_HEADERS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key")  # of the services that offer models
OWN_KEY = re.compile(rf"\b{KEY_PREFIX}[\w-]{{20,}}".encode())
DROPPED_HEADERS = HOP_BY_HOP_HEADERS | {  # of requests
    *(b"host", b"accept-encoding"),  # the upstream gets its own
    *(b"cookie", b"origin", b"referer", b"forwarded", b"x-real-ip"),  # not meant for the upstream
}
DROPPED_PREFIXES = (b"x-everthread-", b"x-forwarded-", b"sec-", b"access-control-")
DROPPED_ANSWER_HEADERS = HOP_BY_HOP_HEADERS | {b"date"}  # uvicorn adds its own date
DROPPED_ANSWER_PREFIXES = (b"access-control-", b"x-everthread-")
MAX_IDLE_CONNECTIONS = 100
REFUSED_STATUSES = (400, 413, 422)  # of a request that may be accepted with its memories elsewhere, or without them
# In an answer with the status 500: llama.cpp and others give it to messages that the model's template doesn't take.
TEMPLATE_ERROR = re.compile(rb"jinja|template|roles? must alternate|system (?:message|role)", re.IGNORECASE)
UNREACHABLE = "upstream-unreachable"  # the name of a problem


class Upstream:
    """The server of the language models.

    Attributes:
        url: its base URL, such as `http://localhost:11434/v1`.
        role: the role in which it accepts memories.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout_s: float = 600,
        role: BlockRole = "system",
        setting: str = "proxy_url",
    ) -> None:
        """Store the settings; connect to nothing yet.

        Args:
            url: its base URL.
            key: replaces the client's; empty: the client's own is passed on.
            timeout_s: how long it may be silent.
            role: the role in which it is sent memories, until it refuses them.
            setting: which one the URL is from, for messages.

        Raises:
            ConfigError: the URL or the role is invalid.
        """
        check_url(setting, url)
        check_role(role)
        self._initial_role: BlockRole = role
        self.move(url, key)
        self._timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        self._client: httpx.AsyncClient | None = None

    def move(self, url: str, key: str) -> None:
        """Send all further requests to another server, with its key, and offer it memories in the initial role."""
        self.url = url.rstrip("/")
        self.role = self._initial_role
        self._key = key

    @property
    def address(self) -> str:
        """The base URL without a password."""
        return str(httpx.URL(self.url).copy_with(userinfo=b"", query=None))

    @property
    def lacks_path(self) -> bool:
        """True if the base URL is only that of a host, at which most servers have no API."""
        return not urlsplit(self.url).path.strip("/")

    def list_roles(self, possible: Sequence[BlockRole]) -> list[BlockRole]:
        """List the roles in which to offer memories, in order.

        A role that was accepted once may be refused later: by another model, or because some models accept a system
        message only as the first one.

        Args:
            possible: those that the format of the request has.
        """
        wanted: list[BlockRole] = list(dict.fromkeys((self.role, "user-prefix")))
        return [role for role in wanted if role in possible] or list(possible[:1])

    def learn_role(self, role: BlockRole) -> None:
        """Offer memories in this role first from now on."""
        self.role = role

    async def send(
        self,
        method: str,
        target: Target,
        headers: RawHeaders,
        content: bytes | AsyncIterator[bytes] = b"",
        receive: Receive | None = None,
    ) -> httpx.Response:
        """Send a request; return the answer, whose body is not read yet and has to be closed.

        Args:
            method: GET, POST, …
            target: where to send it.
            headers: the client's.
            content: the body; an iterator if it is the client's own, unchanged.
            receive: of the client's request, whose body has been read; None: the client is not watched.

        Raises:
            ClientDisconnect: the client has gone away before there was an answer, and the request was ended.
            Problem: 502 or 504 in place of an answer, also of a redirect of a POST, which the client would follow past
                the memory; 400 for a path that leads above the base URL.
        """
        check_path(target.path)
        url = self._locate(target)
        passed = self._build_headers(url, headers)
        if isinstance(content, bytes):
            passed = [(name, value) for name, value in passed if name.lower() != b"content-length"]
        request = httpx.Request(method, url, headers=passed, content=content)
        request.extensions["timeout"] = self._timeout.as_dict()
        try:
            answer = await _wait_while_connected(self._open().send(request, stream=True), receive)
        except httpx.ConnectTimeout as error:
            raise _unreachable(error) from None
        except httpx.TimeoutException:
            raise Problem(504, "upstream-timeout", "the model's server did not answer in time; try again") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _unreachable(error) from None
        if method == "POST" and answer.is_redirect:
            await answer.aclose()
            reason = f"the model's server redirects to another address (status {answer.status_code})"
            raise Problem(502, UNREACHABLE, f"{reason}; set EVERTHREAD_PROXY_URL to that address")
        if answer.status_code == 404 and self.lacks_path:
            log.warning(
                "the model's server answers 404; set EVERTHREAD_PROXY_URL to an address with a path, usually /v1"
            )
        return answer

    def _locate(self, target: Target) -> httpx.URL:
        """Return the address of a path, with the query of the base URL."""
        base = httpx.URL(self.url)
        prefix, _, query = base.raw_path.partition(b"?")
        prefix = prefix.rstrip(b"/")
        path = (prefix.removesuffix(b"/v1") if target.is_root else prefix) + remove_own_keys(target.path)
        return base.copy_with(raw_path=path + (b"&" if b"?" in path else b"?") + query if query else path)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=MAX_IDLE_CONNECTIONS)
            self._client = httpx.AsyncClient(limits=limits, follow_redirects=False)
        self._client.cookies.clear()  # of other callers
        return self._client

    def _build_headers(self, url: httpx.URL, headers: RawHeaders) -> list[tuple[bytes, bytes]]:
        """Return the headers for the upstream: no Everthread key, and the client's only if the upstream has none."""
        passed = drop_headers(headers, DROPPED_HEADERS, DROPPED_PREFIXES)
        passed = [
            (name, value)
            for name, value in passed
            if not OWN_KEY.search(value) and not (self._key and name.lower() in KEY_HEADERS)
        ]
        if self._key:
            passed.append((b"Authorization", f"Bearer {self._key}".encode()))
        return [(b"Host", url.netloc), (b"Accept-Encoding", b"identity"), *passed]


def check_url(setting: str, url: str) -> None:
    """Raise ConfigError unless a setting has the base URL of a server."""
    if not is_http_url(url):
        raise ConfigError(f"invalid {setting}: got {url!r}, expected a URL such as http://localhost:11434/v1")


def check_role(role: str) -> None:
    """Raise ConfigError unless memories can be sent in this role."""
    if role not in BLOCK_ROLES:
        raise ConfigError(f"invalid proxy_role: got {role!r}, expected one of {', '.join(BLOCK_ROLES)}")


async def _wait_while_connected(
    sending: Coroutine[Any, Any, httpx.Response], receive: Receive | None
) -> httpx.Response:
    """Wait for an answer, and end the request to the upstream if the client disconnects before. Raises ClientDisconnect
    then: a model would otherwise go on for no one, and again for each attempt of a client that doesn't wait as long."""
    if receive is None:
        return await sending
    answering, watching = asyncio.ensure_future(sending), asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait((answering, watching), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return answering.result()
    finally:
        answering.cancel()
        watching.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_answer(answer: httpx.Response) -> bytes:
    """Read the body of an answer. Raises Problem 502 if the upstream ends it early."""
    try:
        return await answer.aread()
    except httpx.HTTPError as error:
        raise _unreachable(error) from None
    finally:
        await answer.aclose()


async def find_refusal(answer: httpx.Response) -> tuple[httpx.Response, bool]:
    """Return an answer, or a copy of it, and whether it refuses a request that may be accepted with its memories
    elsewhere. Raises as `read_answer`."""
    if answer.status_code != 500 or "content-encoding" in answer.headers:
        return answer, answer.status_code in REFUSED_STATUSES
    body = await read_answer(answer)
    copy = httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))
    return copy, TEMPLATE_ERROR.search(body) is not None


def check_path(path: bytes) -> None:
    """Reject a path that leads above the base URL once its escapes are decoded. Raises Problem 400."""
    if not {b".", b".."}.isdisjoint(unquote_to_bytes(path.partition(b"?")[0]).split(b"/")):
        raise Problem(400, "bad-path", "no part of the path may be . or .., not even beside an escaped slash")


def remove_own_keys(path: bytes) -> bytes:
    """Remove the parameters with a key of Everthread's from the query of a path."""
    path, mark, query = path.partition(b"?")
    kept = [part for part in query.split(b"&") if not OWN_KEY.search(unquote_to_bytes(part))]
    return path + (mark + b"&".join(kept) if kept else b"")


def drop_headers(
    headers: RawHeaders, names: frozenset[bytes] | set[bytes], prefixes: tuple[bytes, ...]
) -> list[tuple[bytes, bytes]]:
    """Return headers without some, and without those that apply to one connection."""
    headers = list(headers)
    listed = {
        token.strip().lower() for name, value in headers if name.lower() == b"connection" for token in value.split(b",")
    }
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in names and name.lower() not in listed and not name.lower().startswith(prefixes)
    ]


class UpstreamFinder:
    """Finds the upstream, which follows the model that is connected, unless the proxy has one of its own."""

    def __init__(self, settings: Settings, services: Services) -> None:
        """Find the upstream of the start.

        Raises:
            ConfigError: its URL or the role of memories is invalid.
        """
        self._settings, self._services = settings, services
        self._llm = services.llm
        self._upstream = find_upstream(settings, services)

    def get(self) -> Upstream:
        """Return the upstream, at the server of the model that is connected now."""
        if (llm := self._services.llm) is not self._llm:
            self._upstream.move(*_find_address(self._settings, llm))
            self._llm = llm
        return self._upstream

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()


def find_upstream(settings: Settings, services: Services) -> Upstream:
    """Return the configured upstream: that of the proxy, of the character's replies, or an Ollama on this machine.

    Raises:
        ConfigError: its URL or the role of memories is invalid.
    """
    url, key = _find_address(settings, services.llm)
    setting, timeout_s = "proxy_url" if settings.proxy_url else "llm_url", settings.proxy_timeout_s
    return Upstream(url, key, timeout_s=timeout_s, role=settings.proxy_role, setting=setting)  # type: ignore[arg-type]


def has_upstream(settings: Settings, services: Services) -> bool:
    """Return whether the upstream is configured, or an Ollama on this machine that responds now."""
    configured = settings.proxy_url or config.load().llm_url or os.environ.get("OLLAMA_HOST")
    if configured or isinstance(services.llm, OpenAICompatible):
        return True
    return list_ollama_models(parse_ollama_host("")) is not None


def _find_address(settings: Settings, llm: LLM | None) -> tuple[str, str]:
    """Return the URL of the upstream, and the key that replaces the client's."""
    url, key = settings.proxy_url, settings.proxy_key
    if not url and isinstance(llm, OpenAICompatible):
        url, key = llm.base_url, key or llm.key
    elif not url:
        configured = config.load()
        url, key = configured.llm_url, key or configured.llm_key
    return url or f"{parse_ollama_host(os.environ.get('OLLAMA_HOST', ''))}/v1", key


def _unreachable(error: Exception) -> Problem:
    reason = f"the model's server can't be reached ({type(error).__name__})"
    return Problem(502, UNREACHABLE, f"{reason}; start it, or set EVERTHREAD_PROXY_URL to its address")
