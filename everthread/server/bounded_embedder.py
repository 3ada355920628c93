"""Embedding for many at once: so many texts are read at a time, and the others wait.

More at once than there are processors takes as long and keeps everyone waiting for everyone; in turn, the first have
theirs early. Texts of several callers are not put together: a batch reads no faster, and pads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from everthread.embedders.base import Embedder
from everthread.types import Vector, Vectors

MAX_CONCURRENT = 2  # where there are more processors, the rest is left to what else a server does


class BoundedEmbedder:
    """An Embedder that lets at most `at_once` callers embed, whatever calls it. Each embeds in its own thread."""

    def __init__(self, embedder: Embedder, max_concurrent: int | None = None) -> None:
        self._embedder = embedder
        self._free = threading.BoundedSemaphore(max_concurrent or min(MAX_CONCURRENT, os.cpu_count() or 1))

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def multilingual(self) -> bool:
        return self._embedder.multilingual

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._free:
            return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        with self._free:
            return self._embedder.embed_query(text)
