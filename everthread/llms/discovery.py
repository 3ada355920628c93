"""Which language models a server has: an Ollama on this machine, or any that speaks OpenAI's /models."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from everthread.llms.errors import redact_url

OPENAI = "https://api.openai.com/v1"
OLLAMA_WAIT = 0.3  # seconds: on this machine it answers at once, or it isn't there
MODELS_WAIT = 5.0  # seconds for the list of a server's models
OLLAMA_PORT = 11434
LARGEST = 4_000_000  # bytes of a list of models; that of OpenRouter, with all that it tells of hundreds, has about one


def ollama(name: str = "", environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """The address at which Ollama would run, and the model of that name there, or its first that can talk; "" if none.

    Source: Ollama's API, "List Local Models"; a name without a tag means its latest.
    """
    host = ollama_host(environ.get("OLLAMA_HOST", ""))
    models = _items(_asked(f"{host}/api/tags", OLLAMA_WAIT), "models")
    names = [str(each.get("name")) for each in models if name or not _embeds(each)]
    wanted = (name, f"{name}:latest") if name else names
    return host, next((each for each in wanted if each in names), "")


def models(url: str, key: str = "") -> list[str] | None:
    """The names of the models of an OpenAI-compatible server, or None where it doesn't tell."""
    told = _asked(f"{url.rstrip('/')}/models", MODELS_WAIT, key)
    return None if told is None else [str(each["id"]) for each in _items(told, "data") if each.get("id")]


def openai_key(url: str) -> str:
    """Returns OPENAI_API_KEY for an address of OpenAI; "" for any other, which must not see it."""
    ours = redact_url(url).startswith(("https://api.openai.com/", "https://eu.api.openai.com/"))
    return os.environ.get("OPENAI_API_KEY", "") if ours else ""


def ollama_host(said: str) -> str:
    """The address of Ollama by OLLAMA_HOST, which may also say where it listens: host:port, :11434, 0.0.0.0.

    Source: `Host` in Ollama's envconfig/config.go.
    """
    scheme, _, rest = said.strip().rpartition("://")
    usual = {"http": 80, "https": 443}.get(scheme, OLLAMA_PORT)
    try:
        parts = urlsplit(f"//{rest}")
        name, port = parts.hostname, parts.port
    except ValueError:  # no number, or no address
        name, port = None, None
    name = "127.0.0.1" if name in (None, "0.0.0.0", "::") else name
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port or usual}"


def _embeds(model: Mapping[str, Any]) -> bool:
    """Whether a model of Ollama's makes vectors, and no text."""
    details = model.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    return "embed" in str(model.get("name")) or "bert" in str(family)


def _items(told: Mapping[str, Any] | None, name: str) -> list[dict[str, Any]]:
    items = (told or {}).get(name)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _read(parts: Iterable[bytes]) -> bytes:
    """A body, up to the part with which it is longer than any list of models."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > LARGEST:
            break
    return bytes(body)


def _asked(address: str, wait: float, key: str = "") -> dict[str, Any] | None:
    """What a server tells, or None where it can't be asked."""
    import httpx

    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with httpx.stream("GET", address, headers=headers, timeout=wait) as answer:
            told = json.loads(_read(answer.iter_bytes())) if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
