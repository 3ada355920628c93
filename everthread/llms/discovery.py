"""Finds the language models of an Ollama on this machine, or of any server with OpenAI's `/models`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from everthread.common.tls import tls_context
from everthread.common.urls import append_path
from everthread.llms.errors import redact_url

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_TIMEOUT_S = 0.3  # a running Ollama on this machine answers at once
MODELS_TIMEOUT_S = 5.0  # for the list of a server's models
OLLAMA_PORT = 11434
MAX_LIST_BYTES = 4_000_000  # of a list of models; OpenRouter's, with hundreds of descriptions, has about 1 MB


def find_ollama(name: str = "", environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return Ollama's address and the name of a model there: the named one, or its first chat model; "" for none.

    A name without a tag means the tag `latest`.
    """
    host = parse_ollama_host(environ.get("OLLAMA_HOST", ""))
    names = list_ollama_models(host, with_embedding_models=bool(name)) or []
    candidates = (name, f"{name}:latest") if name else names
    return host, next((candidate for candidate in candidates if candidate in names), "")


def list_ollama_models(
    host: str, timeout_s: float = OLLAMA_TIMEOUT_S, *, with_embedding_models: bool = False
) -> list[str] | None:
    """Return the names of Ollama's models, or None if it doesn't answer.

    Source: Ollama's API, "List Local Models".
    """
    response = _fetch_json(host, "/api/tags", timeout_s)
    if response is None:
        return None
    models = _get_items(response, "models")
    return [str(model.get("name")) for model in models if with_embedding_models or not _is_embedding_model(model)]


def list_models(url: str, key: str = "") -> list[str] | None:
    """Return the names of the models of an OpenAI-compatible server, or None if it doesn't list them."""
    response = _fetch_json(url, "/models", MODELS_TIMEOUT_S, key)
    return None if response is None else [str(model["id"]) for model in _get_items(response, "data") if model.get("id")]


def get_openai_key(url: str) -> str:
    """Return OPENAI_API_KEY for an address of OpenAI; "" for any other server, which must not receive the key."""
    is_openai = redact_url(url).startswith(("https://api.openai.com/", "https://eu.api.openai.com/"))
    return os.environ.get("OPENAI_API_KEY", "") if is_openai else ""


def parse_ollama_host(value: str) -> str:
    """Return Ollama's address for a value of OLLAMA_HOST: host:port, :11434, or 0.0.0.0 (all interfaces).

    Source: `Host` in Ollama's envconfig/config.go.
    """
    scheme, _, rest = value.strip().rpartition("://")
    default_port = {"http": 80, "https": 443}.get(scheme, OLLAMA_PORT)
    try:
        parts = urlsplit(f"//{rest}")
        name, port = parts.hostname, parts.port
    except ValueError:  # an invalid port or address
        name, port = None, None
    name = "127.0.0.1" if name in (None, "0.0.0.0", "::") else name
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port or default_port}"


def _is_embedding_model(model: Mapping[str, Any]) -> bool:
    """Return whether a model of Ollama is an embedding model."""
    details = model.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    return "embed" in str(model.get("name")) or "bert" in str(family)


def _get_items(response: Mapping[str, Any] | None, name: str) -> list[dict[str, Any]]:
    items = (response or {}).get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _read_body(parts: Iterable[bytes]) -> bytes:
    """Return a body, at most a little longer than MAX_LIST_BYTES."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > MAX_LIST_BYTES:
            break
    return bytes(body)


def _fetch_json(url: str, path: str, timeout_s: float, key: str = "") -> dict[str, Any] | None:
    """Return the JSON object at a path below a base URL, or None."""
    import httpx

    try:
        address, headers = append_path(url, path), {"Authorization": f"Bearer {key}"} if key else {}
        with httpx.stream("GET", address, headers=headers, timeout=timeout_s, verify=tls_context()) as response:
            value = json.loads(_read_body(response.iter_bytes())) if response.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
