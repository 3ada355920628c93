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


class Slow(HashEmbedder):
    """Counts the callers that embed at the same time."""

    def __init__(self) -> None:
        super().__init__(16)
        self.now = self.most = 0
        self._counting = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._counting:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.01)
        with self._counting:
            self.now -= 1
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed([text])[0], np.float32)


@pytest.mark.parametrize("most", [1, 3])
def test_concurrent_embedding_is_limited_and_each_caller_gets_its_own_vectors(most: int) -> None:
    slow = Slow()
    bounded = BoundedEmbedder(slow, most)
    found: dict[int, Vector] = {}

    def ask(number: int) -> None:
        found[number] = bounded.embed_query(f"text {number}") if number % 2 else bounded.embed([f"text {number}"])[0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.most == most
    assert (bounded.name, bounded.multilingual) == (slow.name, slow.multilingual)
    for number, vector in found.items():
        np.testing.assert_array_equal(vector, HashEmbedder(16).embed([f"text {number}"])[0])
