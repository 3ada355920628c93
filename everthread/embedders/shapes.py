"""The shapes of what embedders give, and how near two texts are by it. An embedder may give several vectors a text, and
several a question: the nearest pair counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everthread.embedders.base import Embedder
from everthread.errors import ModelError
from everthread.types import Vector, Vectors

MOST = 128  # vectors a text; a store can number 4,096 of a line, which has up to 32 pieces


def passages(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """(N, E, D) the E vectors of each text. ModelError where the embedder gives anything else, or what is no number."""
    made = np.asarray(embedder.embed(texts), np.float32)
    each = made.shape[1] if made.ndim == 3 else 1
    if made.ndim not in (2, 3) or len(made) != len(texts) or not made.shape[-1] or not 0 < each <= MOST:
        raise ModelError(
            f"{embedder.name} gave vectors of the shape {made.shape} for {len(texts)} texts; expected (texts, "
            f"dimensions) or (texts, up to {MOST} vectors a text, dimensions). Correct its `embed`, or name another "
            "embedder"
        )
    _see(embedder, made)
    return made.reshape(len(texts), each, made.shape[-1])


def question(embedder: Embedder, text: str) -> Vector:
    """(D,) the vector of a question, or (Q, D) where it has several. Raises as `passages`."""
    made = np.asarray(embedder.embed_query(text), np.float32)
    if made.ndim not in (1, 2) or not made.size:
        raise ModelError(
            f"{embedder.name} gave a vector of the shape {made.shape} for a question; expected (dimensions,) or "
            "(vectors, dimensions). Correct its `embed_query`, or name another embedder"
        )
    _see(embedder, made)
    return made[0] if len(made) == 1 and made.ndim == 2 else made


def nearest(vectors: Vectors, asked: Vector) -> Vector:
    """(N,) the greatest cosine of any of the (N, E, D) vectors of each text to any of the question's."""
    found = vectors.reshape(-1, vectors.shape[-1]) @ asked.T
    return np.asarray(found.reshape(len(vectors), -1).max(axis=1), np.float32)


def _see(embedder: Embedder, made: Vectors) -> None:
    if not np.isfinite(made).all():
        raise ModelError(f"{embedder.name} gave vectors that are not finite (NaN or infinite)")
