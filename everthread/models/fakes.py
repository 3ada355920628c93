"""Stand-ins for models: deterministic, instant, and needing no file. Public, so that your own tests can use them.

HashEmbedder knows words by their spelling only: texts are near when they share words, and never by meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from everthread.errors import ConfigError
from everthread.types import Vector, Vectors

WORD = re.compile(r"\w+")


class HashEmbedder:
    """A hashed bag of words, of unit length. A text without words has the first axis for its vector."""

    multilingual = False

    def __init__(self, dim: int = 64) -> None:
        if dim < 1:
            raise ConfigError(f"HashEmbedder needs a dimension of at least 1, not {dim}")
        self.dim = dim
        self.name = f"hash-{dim}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dim), np.float32)  # (N, D)
        for vector, text in zip(vectors, texts, strict=True):
            self._fill(vector, text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _fill(self, vector: Vector, text: str) -> None:
        for word in WORD.findall(text.casefold()):
            # Not hash(): Python salts that anew in every process.
            code = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
            vector[(code >> 1) % self.dim] += 1.0 if code & 1 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # no words, or words that cancelled each other
            vector[0] = length = 1.0
        vector /= length
