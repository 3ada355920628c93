"""BulkEmbedder: vectors of lifelike lines at almost no cost, so that a bank of a million lines is built in minutes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everthread.bench.synthetic import FUNCTION_WORDS
from everthread.embedders.base import Embedder
from everthread.embedders.shapes import embed_question_with_tokens, embed_texts_with_tokens
from everthread.embedders.token_vectors import DIMENSIONS as TOKEN_DIMENSIONS
from everthread.embedders.token_vectors import MAX_TOKENS, QuestionTokens, encode_signs
from everthread.types import TokenCodes, Vector, Vectors

DIMENSIONS = 384  # dimensions of the vectors, as of the default model
BUCKETS = 4096  # hashed words; enough that two words rarely share a vector


class BulkEmbedder:
    """Computes the vector of a text as the mean of a fixed random vector for each word.

    Content words have token vectors as well, like those of the default model. For a query or a single line it also runs
    the real model, so that timings include it.
    """

    multilingual = True
    token_scheme = "bulk"

    def __init__(self, real: Embedder) -> None:
        self.name = f"bulk-{DIMENSIONS}"
        self._real = real
        random = np.random.default_rng(0)
        self._words = random.standard_normal((BUCKETS, DIMENSIONS), dtype=np.float32)  # (BUCKETS, D)
        self._tokens = random.standard_normal((BUCKETS, TOKEN_DIMENSIONS), dtype=np.float32)  # (BUCKETS, B)
        self._tokens /= np.linalg.norm(self._tokens, axis=1, keepdims=True)
        self._codes = encode_signs(self._tokens)  # (BUCKETS, B / 8)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) == 1:
            self._real.embed(texts)
        return self.project(texts)

    def embed_query(self, text: str) -> Vector:
        self._real.embed_query(text)
        return np.asarray(self.project([text])[0], np.float32)

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        if len(texts) == 1:
            embed_texts_with_tokens(self._real, texts)
        return self.project(texts), [self._codes[_hash_words(_content_words(text))] for text in texts]

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        embed_question_with_tokens(self._real, text)
        words = _content_words(text)
        tokens = QuestionTokens(self.token_scheme, words, self._tokens[_hash_words(words)])
        return np.asarray(self.project([text])[0], np.float32), tokens

    def project(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors alone: (N, D)."""
        words_by_text = [split_words(text) or [""] for text in texts]
        starts = np.cumsum([0, *(len(words) for words in words_by_text[:-1])])
        every_word = [word for words in words_by_text for word in words]
        sums = np.add.reduceat(self._words[_hash_words(every_word)], starts, axis=0)  # (N, D)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float32)


def split_words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def _content_words(text: str) -> list[str]:
    return [word for word in split_words(text) if word not in FUNCTION_WORDS][:MAX_TOKENS]


def _hash_words(words: Sequence[str]) -> npt.NDArray[np.intp]:
    return np.array([zlib.crc32(word.encode()) % BUCKETS for word in words], np.intp)
