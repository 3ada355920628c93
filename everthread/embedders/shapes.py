"""Calls an embedder, checks its vectors, and compares texts with several vectors by their nearest pair.

An embedder of the caller's own may raise the errors of any client or framework. Here they become EmbedderUnavailable,
so that a line is stored whatever happens to its vector.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from everthread.common.tracing import traced
from everthread.embedders.base import Embedder
from everthread.embedders.token_vectors import QuestionTokens, gives_tokens
from everthread.errors import EmbedderUnavailable, ModelError, raised_as
from everthread.types import TokenCodes, Vector, Vectors

log = logging.getLogger("everthread")

Floats = TypeVar("Floats", bound=npt.NDArray[np.floating[Any]])

UNIT_TOLERANCE = 1e-2  # vectors that were rounded to half precision or to bytes are not scaled again
MAX_VECTORS_PER_TEXT = 128  # a store can number 4,096 vectors of a line, which has up to 32 pieces


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the E vectors of each text: (N, E, D).

    Raises:
        ModelError: the embedder failed, or returned another shape, NaN or infinity.
    """
    with raised_as(EmbedderUnavailable, embedder.name, texts):
        vectors = np.asarray(embedder.embed(texts), np.float32)
    return _check_texts(embedder, vectors, len(texts))


@traced("everthread.embed", texts=lambda embedded: len(embedded[0]))
def embed_texts_with_tokens(embedder: Embedder, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
    """Return the E vectors of each text, (N, E, D), and the codes of each text's words; none if it gives none.

    Raises:
        ModelError: the embedder failed, or returned vectors of another shape, NaN or infinity.
    """
    if not gives_tokens(embedder):
        return embed_texts(embedder, texts), []
    with raised_as(EmbedderUnavailable, embedder.name, texts):
        given, codes = embedder.embed_with_tokens(texts)
        vectors = np.asarray(given, np.float32)
    return _check_texts(embedder, vectors, len(texts)), codes


def _check_texts(embedder: Embedder, vectors: Vectors, count: int) -> Vectors:
    """Return the vectors of `count` texts as (N, E, D), of unit length. Raises ModelError."""
    per_text = vectors.shape[1] if vectors.ndim == 3 else 1
    is_valid = vectors.ndim in (2, 3) and len(vectors) == count and vectors.shape[-1] > 0
    if not is_valid or not 0 < per_text <= MAX_VECTORS_PER_TEXT:
        raise ModelError(
            f"{embedder.name} returned vectors of shape {vectors.shape} for {count} texts; expected (texts, "
            f"dimensions) or (texts, up to {MAX_VECTORS_PER_TEXT} vectors per text, dimensions). Correct its `embed`, "
            "or use another embedder"
        )
    _check_finite(embedder, vectors)
    return _scale(embedder, vectors.reshape(count, per_text, vectors.shape[-1]))


def embed_question(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a question (D,), or its Q vectors (Q, D).

    Raises:
        ModelError: the embedder failed, or returned another shape, NaN or infinity.
    """
    with raised_as(EmbedderUnavailable, embedder.name, [text]):
        vector = np.asarray(embedder.embed_query(text), np.float32)
    return _check_question(embedder, vector)


@traced("everthread.embed_question")
def embed_question_with_tokens(embedder: Embedder, text: str) -> tuple[Vector, QuestionTokens | None]:
    """Return the vector of a question, (D,) or (Q, D), and the vectors of its words; None if it gives none.

    Raises:
        ModelError: the embedder failed, or returned a vector of another shape, NaN or infinity.
    """
    if not gives_tokens(embedder):
        return embed_question(embedder, text), None
    with raised_as(EmbedderUnavailable, embedder.name, [text]):
        given, tokens = embedder.embed_query_with_tokens(text)
        vector = np.asarray(given, np.float32)
    return _check_question(embedder, vector), tokens


def _check_question(embedder: Embedder, vector: Vector) -> Vector:
    """Return the vector of a question as (D,) or (Q, D), of unit length. Raises ModelError."""
    if vector.ndim not in (1, 2) or not vector.size:
        raise ModelError(
            f"{embedder.name} returned a vector of shape {vector.shape} for a question; expected (dimensions,) or "
            "(vectors, dimensions). Correct its `embed_query`, or use another embedder"
        )
    _check_finite(embedder, vector)
    vector = _scale(embedder, vector)
    return vector[0] if vector.ndim == 2 and len(vector) == 1 else vector


def _scale(embedder: Embedder, vectors: Vectors) -> Vectors:
    """Return vectors of unit length, and warn if an embedder returns others: earlier versions have stored these."""
    scaled = scale_to_unit(vectors)
    if scaled is not vectors:
        _warn_of_scaling(embedder.name)
    return scaled


@cache
def _warn_of_scaling(name: str) -> None:
    log.warning(
        "vectors of %s are scaled to unit length; those of lines that it has embedded before version 0.2 are not: give "
        "it another name and run reindex, if there are any",
        name,
    )


def scale_to_unit(vectors: Floats) -> Floats:
    """Return vectors (…, D) of unit length, since a dot product is taken for their cosine; zeros stay zeros.

    Vectors that have it are returned as they are, so that an embedder's numbers don't change in the last bit.
    """
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)  # (…, 1); of large ones, too
    if np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        return vectors
    return cast("Floats", (vectors / np.where(lengths > 0, lengths, 1)).astype(vectors.dtype))


def max_cosines(vectors: Vectors, question: Vector) -> Vector:
    """Return the greatest cosine of each text (N,): of any of its vectors (N, E, D) with any vector of the question."""
    cosines = vectors.reshape(-1, vectors.shape[-1]) @ question.T
    return np.asarray(cosines.reshape(len(vectors), -1).max(axis=1), np.float32)


def _check_finite(embedder: Embedder, vectors: Vectors) -> None:
    if not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.name} returned vectors that contain NaN or infinity")
