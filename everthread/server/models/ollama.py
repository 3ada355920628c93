"""The Ollama of this machine, or of OLLAMA_HOST: whether it runs, which models it has, and how it gets another one.

Source: Ollama's API, "List Local Models" and "Pull a Model".
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx

from everthread.common.tls import tls_context
from everthread.llms import discovery
from everthread.llms.errors import CONNECT_TIMEOUT_S, redact_url
from everthread.server.problems import Problem

LIST_TIMEOUT_S = 2.0  # a person waits for the list
SILENCE_TIMEOUT_S = (
    120.0  # while a model is pulled: its registry may be slow, and the check of a large file takes a while
)


def get_address() -> str:
    """Return the address at which Ollama is expected."""
    return discovery.parse_ollama_host(os.environ.get("OLLAMA_HOST", ""))


def list_models() -> list[str] | None:
    """Return the names of Ollama's models that can chat, or None if it doesn't run."""
    return discovery.list_ollama_models(get_address(), LIST_TIMEOUT_S)


async def pull(name: str) -> AsyncIterator[dict[str, Any]]:
    """Have Ollama download a model. Yield its progress: `status`, and the bytes `completed` of `total`.

    Ollama stops the download when the iterator is closed, and continues it when it is asked again.

    Args:
        name: of Ollama's library, such as `llama3.2`.

    Raises:
        Problem: Ollama doesn't run, or it can't get the model.
    """
    layers: dict[str, tuple[int, int]] = {}  # completed and total bytes, by digest
    async for event in _stream_pull(name):
        if error := event.get("error"):
            raise _failed(name, str(error))
        digest, total = event.get("digest"), event.get("total")
        if isinstance(digest, str) and isinstance(total, int):
            layers[digest] = int(event.get("completed") or 0), total
        completed, total = (sum(layer[index] for layer in layers.values()) for index in (0, 1))
        yield {"status": str(event.get("status", "")), "completed": completed, "total": total}


async def _stream_pull(name: str) -> AsyncIterator[dict[str, Any]]:
    """Yield the objects of Ollama's response."""
    host = get_address()
    timeout = httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        async with (
            httpx.AsyncClient(timeout=timeout, follow_redirects=False, verify=tls_context()) as http,
            http.stream("POST", f"{host}/api/pull", json={"model": name, "stream": True}) as response,
        ):
            if response.status_code != 200:
                raise _failed(name, f"status {response.status_code}")
            async for row in response.aiter_lines():
                if isinstance(event := json.loads(row), dict):
                    yield event
    except httpx.ConnectError:
        detail = f"Ollama doesn't answer at {redact_url(host)}; start it, and try again"
        raise Problem(422, "ollama-unreachable", detail) from None
    except (httpx.HTTPError, ValueError):
        raise _failed(name, "the connection broke") from None


def _failed(name: str, reason: str) -> Problem:
    remedy = "check the name and the connection to the internet, and try again"
    return Problem(422, "pull-failed", f"Ollama could not download {name!r} ({reason[:200]}); {remedy}")
