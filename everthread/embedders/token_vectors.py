"""Token vectors: a vector for each content word of a text, as late interaction needs them, and their codes.

Late interaction compares each word of a question with the word of a line that is nearest to it (Khattab and Zaharia
2020, "ColBERT"). The vectors are those of the model's last layer, projected on their principal components and rotated
at random, so that a line can be stored as one bit a dimension (Gong and Lazebnik 2011, "Iterative Quantization"); a
question keeps its numbers. Only words with a meaning of their own have one: no function words, punctuation and special
tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from everthread.embedders.base import Embedder
from everthread.text.analyzer import STOP_WORDS
from everthread.types import TokenCodes, Vector, Vectors

MAX_TOKENS = 64  # of a line and of a question; a line of friends has 16 on average
DIMENSIONS = 128
MAX_MULTIPLICATIONS = 250_000  # of one product; OpenBLAS uses threads from a million on, older versions from 262,144 on
SIGN_SCALE = math.sqrt(math.pi / 2)  # the mean of |x| of a normal variable is sqrt(2 / pi)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionTokens:
    """The token vectors of a question.

    Attributes:
        scheme: the scheme of the codes with which they may be compared.
        words: the word that each token is a part of, T of them.
        vectors: (T, B) of unit length.
    """

    scheme: str
    words: Sequence[str]
    vectors: Floats


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives token vectors, from the same run of its model."""

    @property
    def token_scheme(self) -> str:
        """The name of the projection; "" if the model has none. Codes of two schemes are never compared."""
        ...

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        """Return the vectors that `embed` returns, and the codes of each text's tokens."""
        ...

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        """Return the vector that `embed_query` returns, and the vectors of the question's tokens."""
        ...


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Return whether an embedder gives token vectors. Faster than `isinstance`, which looks for every method."""
    return bool(token_scheme_of(embedder))


def token_scheme_of(embedder: Embedder) -> str:
    """Return the scheme of an embedder's codes; "" if it gives none."""
    return str(getattr(embedder, "token_scheme", ""))


def encode_signs(vectors: Floats) -> npt.NDArray[np.uint8]:
    """Convert (T, B) token vectors to (T, B / 8) codes: one bit a dimension."""
    return np.packbits(vectors > 0, axis=1)


def match_tokens(question: Floats, codes: npt.NDArray[np.uint8]) -> Floats:
    """Estimate (Q, T) the cosines of the Q tokens of a question to tokens of lines.

    Args:
        question: (Q, B) of unit length.
        codes: (T, B / 8).
    """
    signs = np.unpackbits(codes, axis=1).astype(np.float32)  # (T, B) of 0 and 1
    products = 2 * _multiply(signs, question.T).T - question.sum(axis=1, keepdims=True)  # faster than the other order
    return np.asarray(products * np.float32(SIGN_SCALE / math.sqrt(question.shape[1])))


def find_content_tokens(tokens: Sequence[str]) -> list[int]:
    """Return the indexes of the WordPiece tokens that have a meaning of their own, at most MAX_TOKENS."""
    return [index for index, token in enumerate(tokens) if _is_content(token)][:MAX_TOKENS]


@cache
def _is_content(token: str) -> bool:
    is_special = len(token) > 2 and token.startswith("[") and token.endswith("]")
    return not is_special and token not in STOP_WORDS and any(map(str.isalnum, token))


def project(hidden: Floats, projection: Floats) -> Floats:
    """Project (T, D) vectors of the last layer to (T, B) token vectors of unit length.

    Args:
        hidden: (T, D).
        projection: (D + 1, B), of which the last row moves the mean to 0.
    """
    unit = hidden / np.maximum(np.linalg.norm(hidden, axis=1, keepdims=True), 1e-12)
    vectors = _multiply(unit, projection[:-1]) + projection[-1]
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)


def _multiply(left: Floats, right: Floats) -> Floats:
    """Multiply (N, K) by (K, M) some rows at a time, so that OpenBLAS uses no threads.

    Its threads wait actively for the next product: with them a recall takes twice the processor time, and on a busy
    machine three times as long.
    """
    step = max(MAX_MULTIPLICATIONS // right.size, 1)
    return np.vstack([left[start : start + step] @ right for start in range(0, max(len(left), 1), step)])


def fit_projection(hidden: Floats) -> Floats:
    """Fit a projection: the principal components of (N, D) vectors of the last layer, rotated at random.

    The rotation spreads what the components hold over all bits, which would otherwise differ in worth.

    Returns:
        (D + 1, B), as for `project`.
    """
    unit = hidden / np.maximum(np.linalg.norm(hidden, axis=1, keepdims=True), 1e-12)
    mean = unit.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(unit, rowvar=False))  # ascending
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((DIMENSIONS, DIMENSIONS)))[0]
    matrix = axes[:, -DIMENSIONS:] @ rotation
    return np.asarray(np.vstack([matrix, -mean @ matrix]), np.float32)
