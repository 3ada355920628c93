"""Embedded texts and questions: their vectors, and their words for late interaction."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.embedders.token_vectors import QuestionTokens
from everthread.types import LineTokens, Vector, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedText:
    """A text as it is stored.

    Attributes:
        vectors: (N, D) of its pieces.
        tokens: the codes of its content words; None if the embedder gives none.
    """

    vectors: Vectors
    tokens: LineTokens | None


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedQuestion:
    """A question as it is compared.

    Attributes:
        vector: (D,), or (Q, D) if the model returns several.
        tokens: the vectors of its content words; None if the embedder gives none.
    """

    vector: Vector
    tokens: QuestionTokens | None
