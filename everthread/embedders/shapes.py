"""Checks the shapes of an embedder's vectors, and compares texts that have several: the nearest pair counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everthread.embedders.base import Embedder
from everthread.errors import ModelError
from everthread.types import Vector, Vectors

MAX_VECTORS_PER_TEXT = 128  # a store can number 4,096 of a line, which has up to 32 pieces


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the E vectors of each text: (N, E, D).

    Raises:
        ModelError: the embedder returned another shape, NaN or infinity.
    """
    made = np.asarray(embedder.embed(texts), np.float32)
    each = made.shape[1] if made.ndim == 3 else 1
    if made.ndim not in (2, 3) or len(made) != len(texts) or not made.shape[-1] or not 0 < each <= MAX_VECTORS_PER_TEXT:
        raise ModelError(
            f"{embedder.name} returned vectors of shape {made.shape} for {len(texts)} texts; expected (texts, "
            f"dimensions) or (texts, up to {MAX_VECTORS_PER_TEXT} vectors per text, dimensions). Correct its `embed`, "
            "or use another embedder"
        )
    _check_finite(embedder, made)
    return made.reshape(len(texts), each, made.shape[-1])


def embed_question(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a question (D,), or its Q vectors (Q, D).

    Raises:
        ModelError: the embedder returned another shape, NaN or infinity.
    """
    made = np.asarray(embedder.embed_query(text), np.float32)
    if made.ndim not in (1, 2) or not made.size:
        raise ModelError(
            f"{embedder.name} returned a vector of shape {made.shape} for a question; expected (dimensions,) or "
            "(vectors, dimensions). Correct its `embed_query`, or use another embedder"
        )
    _check_finite(embedder, made)
    return made[0] if len(made) == 1 and made.ndim == 2 else made


def max_cosines(vectors: Vectors, asked: Vector) -> Vector:
    """Return, per text, the greatest cosine (N,) of any of its vectors (N, E, D) to any of the question's."""
    found = vectors.reshape(-1, vectors.shape[-1]) @ asked.T
    return np.asarray(found.reshape(len(vectors), -1).max(axis=1), np.float32)


def _check_finite(embedder: Embedder, made: Vectors) -> None:
    if not np.isfinite(made).all():
        raise ModelError(f"{embedder.name} returned vectors that contain NaN or infinity")
