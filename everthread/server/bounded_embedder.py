"""Limits how many callers embed at once.

More callers than processors take no less time in total, and delay each other; one after another, the first finish
early. The texts of several callers are not embedded in one batch, which is not faster and needs padding.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from everthread.embedders.base import Embedder
from everthread.embedders.token_vectors import QuestionTokens, TokenEmbedder, token_scheme_of
from everthread.types import TokenCodes, Vector, Vectors

MAX_CONCURRENT = 2  # further processors are left to the other work of a server


class BoundedEmbedder:
    """An embedder that lets at most `max_concurrent` callers embed, each in its own thread."""

    def __init__(self, embedder: Embedder, max_concurrent: int | None = None) -> None:
        self._embedder = embedder
        self._free = threading.BoundedSemaphore(max_concurrent or min(MAX_CONCURRENT, os.cpu_count() or 1))

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def multilingual(self) -> bool:
        return self._embedder.multilingual

    @property
    def token_scheme(self) -> str:
        return token_scheme_of(self._embedder)

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._free:
            return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        with self._free:
            return self._embedder.embed_query(text)

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        assert isinstance(self._embedder, TokenEmbedder)
        with self._free:
            return self._embedder.embed_with_tokens(texts)

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        assert isinstance(self._embedder, TokenEmbedder)
        with self._free:
            return self._embedder.embed_query_with_tokens(text)
