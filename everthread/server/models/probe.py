"""Tries a server of language models, and explains in plain words what is wrong with it.

The key is sent to the named address only: redirects are not followed. No error contains it.
"""

from __future__ import annotations

import json
import time

import httpx

from everthread.common.installation import extra_command, has_llm_extra
from everthread.common.tls import tls_context
from everthread.common.urls import append_path
from everthread.errors import ConfigError, LLMDenied, ModelError, ModelNotFound
from everthread.llms.discovery import MAX_LIST_BYTES
from everthread.llms.errors import redact_url
from everthread.llms.openai_compatible import NON_STREAMING_FACTOR, OpenAICompatible
from everthread.types import Message, Sampling

LIST_TIMEOUT_S = 10.0  # for the list of models
REPLY_TIMEOUT_S = 60.0  # for a first reply: a large model is read from the disk before it
MAX_REPLY_TOKENS = 16
MAX_NAMES = 12  # of models in an error


class UnusableServer(ConfigError):
    """A server of language models, or one of its models, can't be used.

    Attributes:
        kind: what is wrong, such as `key`.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def complete_address(url: str) -> str:
    """Return a base URL: without a slash at its end, and with /v1 if it has no path."""
    url = url.strip().rstrip("/")
    return url if redact_url(url).count("/") > 2 else append_path(url, "/v1")


def list_models(url: str, key: str) -> list[str] | None:
    """Return the names of a server's models, or None if it doesn't list them.

    Raises:
        ConfigError: the address or the key has an invalid form.
        UnusableServer: there is no such server, or it refuses the key.
    """
    address = redact_url(url)
    OpenAICompatible(url, "", key or None)  # checks the key's form
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        status, body = _fetch(append_path(url, "/models"), headers)
    except httpx.TimeoutException:
        raise _slow(address, LIST_TIMEOUT_S) from None
    except (httpx.HTTPError, httpx.InvalidURL):
        raise UnusableServer(
            "unreachable", f"nothing answers at {address}; start the server, or check the address"
        ) from None
    if status in (401, 403):
        raise _key_refused(address, key)
    if 300 <= status < 400:
        raise _moved(address)
    if status in (404, 405, 501):
        return None
    if status != 200:
        raise UnusableServer("failed", f"the server at {address} failed ({status}); try again later, or check its log")
    return _parse_names(body, address)


def try_model(url: str, model: str, key: str, names: list[str] | None) -> None:
    """Have a model write a few words.

    Args:
        url: the base URL of its server.
        model: its name.
        key: its server's key; empty for none.
        names: the server's models, if it lists them.

    Raises:
        ConfigError: the address or the key has an invalid form, or a package is missing.
        UnusableServer: the model doesn't reply.
    """
    if not has_llm_extra():
        raise ConfigError(f"language models need an extra: {extra_command('llm')}")
    address = redact_url(url)
    llm = OpenAICompatible(url, model, key or None, timeout=REPLY_TIMEOUT_S / NON_STREAMING_FACTOR, retries=0)
    started = time.monotonic()
    try:
        llm.complete([Message("user", "Say hello.")], sampling=Sampling(max_tokens=MAX_REPLY_TOKENS))
    except LLMDenied:
        raise _key_refused(address, key) from None
    except ModelNotFound:
        raise _missing(address, model, names) from None
    except ModelError as error:
        if time.monotonic() - started >= REPLY_TIMEOUT_S:
            raise _slow(address, REPLY_TIMEOUT_S) from None
        problem = error.public.partition("; ")[0]
        raise UnusableServer("failed", f"{problem}; check the address, the model and its server") from None


def _fetch(address: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Return the status and the body of a response; a body that is too long is cut."""
    deadline, body = time.monotonic() + LIST_TIMEOUT_S, bytearray()
    with httpx.stream(
        "GET", address, headers=headers, timeout=LIST_TIMEOUT_S, follow_redirects=False, verify=tls_context()
    ) as response:
        for part in response.iter_bytes():
            body += part
            if len(body) > MAX_LIST_BYTES:
                break
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the body is too slow")
        return response.status_code, bytes(body)


def _parse_names(body: bytes, address: str) -> list[str]:
    try:
        items = json.loads(body)["data"]
        return [str(item["id"]) for item in items if item.get("id")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        detail = f"what answers at {address} is not a server of language models; its address usually ends in /v1"
        raise UnusableServer("no-server", detail) from None


def _key_refused(address: str, key: str) -> UnusableServer:
    if key:
        return UnusableServer("key", f"the server at {address} refused the key; copy it again from your account there")
    return UnusableServer("key", f"the server at {address} requires a key; create one in your account there")


def _moved(address: str) -> UnusableServer:
    detail = f"the server at {address} refers to another address, to which the key was not sent; enter that address"
    return UnusableServer("moved", detail)


def _slow(address: str, seconds: float) -> UnusableServer:
    detail = (
        f"the server at {address} did not answer within {seconds:g} seconds; check that it is running, and try again"
    )
    return UnusableServer("slow", detail)


def _missing(address: str, model: str, names: list[str] | None) -> UnusableServer:
    listed = f"; it has {', '.join(names[:MAX_NAMES])}{' …' if len(names) > MAX_NAMES else ''}" if names else ""
    return UnusableServer("missing", f"the server at {address} has no model {model!r}{listed or '; check its name'}")
