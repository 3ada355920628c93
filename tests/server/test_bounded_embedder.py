"""Embedding for concurrent callers."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from everthread.server.bounded_embedder import BoundedEmbedder
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors


class CountingEmbedder(HashEmbedder):
    """Embeds slowly, and counts the callers that embed at the same time."""

    def __init__(self) -> None:
        super().__init__(16)
        self.concurrent = self.max_concurrent = 0
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            self.concurrent += 1
            self.max_concurrent = max(self.max_concurrent, self.concurrent)
        time.sleep(0.01)
        with self._lock:
            self.concurrent -= 1
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed([text])[0], np.float32)


@pytest.mark.parametrize("max_concurrent", [1, 3])
def test_concurrent_embedding_is_limited_and_each_caller_gets_its_own_vectors(max_concurrent: int) -> None:
    counting = CountingEmbedder()
    bounded = BoundedEmbedder(counting, max_concurrent)
    vectors: dict[int, Vector] = {}

    def embed(number: int) -> None:
        vectors[number] = bounded.embed_query(f"text {number}") if number % 2 else bounded.embed([f"text {number}"])[0]

    threads = [threading.Thread(target=embed, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.max_concurrent == max_concurrent
    assert (bounded.name, bounded.multilingual) == (counting.name, counting.multilingual)
    for number, vector in vectors.items():
        np.testing.assert_array_equal(vector, HashEmbedder(16).embed([f"text {number}"])[0])
