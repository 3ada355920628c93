"""Answers requests for embeddings with the embedder of the memory.

Source: OpenAI's API reference, "Create embeddings".
"""

from __future__ import annotations

import base64
from typing import Any

from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.server.proxy.raw_json import Scanner
from everthread.text.tokens import TokenCounter
from everthread.types import Vector

MODEL = "everthread"  # a name for the embedder of the memory, whichever it is
MAX_TEXTS = 2048  # as at OpenAI


def read_own(body: bytes, embedder: Embedder) -> dict[str, Any] | None:
    """Read a request if it is for the embedder of the memory; return None for another."""
    try:
        scanner = Scanner(body.decode())
        request = scanner.read_value().value
        scanner.require_end()
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) and request.get("model") in (MODEL, embedder.name) else None


def embed(request: dict[str, Any], embedder: Embedder, count: TokenCounter) -> dict[str, Any]:
    """Return the answer to a request.

    Args:
        request: as `read_own` returns it.
        embedder: of the memory.
        count: counts tokens.

    Raises:
        BadInput: the request is invalid.
        ModelError: the embedder fails.
    """
    texts = _read_texts(request.get("input"))
    encoding = request.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise BadInput(f"invalid encoding_format: got {str(encoding)[:40]!r}, expected float or base64")
    vectors = embedder.embed(texts)
    if vectors.ndim != 2:
        raise BadInput(f"invalid model: {embedder.name} has several vectors for each text; choose another embedder")
    if (dimensions := request.get("dimensions")) not in (None, vectors.shape[1]):
        raise BadInput(f"invalid dimensions: got {str(dimensions)[:40]}, expected {vectors.shape[1]}")
    tokens = sum(map(count, texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _encode(vector, encoding)}
            for index, vector in enumerate(vectors)
        ],
        "model": request["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _encode(vector: Vector, encoding: str) -> list[float] | str:
    """Return a vector as numbers, or in base64 as little-endian numbers of 32 bits."""
    if encoding == "float":
        return [float(number) for number in vector]
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _read_texts(value: object) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise BadInput("invalid input: expected a text or a list of texts; lists of tokens are not supported")
    if len(texts) > MAX_TEXTS:
        raise BadInput(f"invalid input: got {len(texts)} texts, expected at most {MAX_TEXTS}")
    return texts
