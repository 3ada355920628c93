"""Finds language models: of an Ollama on this machine, or of any server with OpenAI's `/models`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from everthread.llms.errors import redact_url

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_TIMEOUT_S = 0.3  # on this machine it answers at once, or it isn't there
MODELS_TIMEOUT_S = 5.0  # for the list of a server's models
OLLAMA_PORT = 11434
MAX_LIST_BYTES = 4_000_000  # of a list of models; OpenRouter's, with the descriptions of hundreds, has about 1 MB


def find_ollama(name: str = "", environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the address of Ollama, and the model of that name there, or its first chat model; "" if it has none.

    Source: Ollama's API, "List Local Models"; a name without a tag means its latest.
    """
    host = parse_ollama_host(environ.get("OLLAMA_HOST", ""))
    models = _items(_fetch_json(f"{host}/api/tags", OLLAMA_TIMEOUT_S), "models")
    names = [str(each.get("name")) for each in models if name or not _is_embedding_model(each)]
    wanted = (name, f"{name}:latest") if name else names
    return host, next((each for each in wanted if each in names), "")


def list_models(url: str, key: str = "") -> list[str] | None:
    """Return the names of the models of an OpenAI-compatible server, or None if it doesn't list them."""
    listed = _fetch_json(f"{url.rstrip('/')}/models", MODELS_TIMEOUT_S, key)
    return None if listed is None else [str(each["id"]) for each in _items(listed, "data") if each.get("id")]


def get_openai_key(url: str) -> str:
    """Return OPENAI_API_KEY for an address of OpenAI; "" for any other, which must not see it."""
    ours = redact_url(url).startswith(("https://api.openai.com/", "https://eu.api.openai.com/"))
    return os.environ.get("OPENAI_API_KEY", "") if ours else ""


def parse_ollama_host(value: str) -> str:
    """Return the address of Ollama for a value of OLLAMA_HOST: host:port, :11434, or 0.0.0.0, on which it listens.

    Source: `Host` in Ollama's envconfig/config.go.
    """
    scheme, _, rest = value.strip().rpartition("://")
    usual = {"http": 80, "https": 443}.get(scheme, OLLAMA_PORT)
    try:
        parts = urlsplit(f"//{rest}")
        name, port = parts.hostname, parts.port
    except ValueError:  # no number, or no address
        name, port = None, None
    name = "127.0.0.1" if name in (None, "0.0.0.0", "::") else name
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port or usual}"


def _is_embedding_model(model: Mapping[str, Any]) -> bool:
    """Return whether a model of Ollama is an embedding model."""
    details = model.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    return "embed" in str(model.get("name")) or "bert" in str(family)


def _items(found: Mapping[str, Any] | None, name: str) -> list[dict[str, Any]]:
    items = (found or {}).get(name)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _read_body(parts: Iterable[bytes]) -> bytes:
    """Return a body, at most a little longer than MAX_LIST_BYTES."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > MAX_LIST_BYTES:
            break
    return bytes(body)


def _fetch_json(address: str, timeout_s: float, key: str = "") -> dict[str, Any] | None:
    """Return the JSON object at an address, or None if it has no such object."""
    import httpx

    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with httpx.stream("GET", address, headers=headers, timeout=timeout_s) as response:
            found = json.loads(_read_body(response.iter_bytes())) if response.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
