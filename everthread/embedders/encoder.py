"""Wraps an embedder for banks: splits long texts, pauses after a failure, and calibrates cosines.

An embedder that reads only English gets a Chinese text as an English gloss (`text.gloss`), a question and a line alike.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everthread.common.deadline import Deadline
from everthread.embedders import shapes
from everthread.embedders.base import Embedder
from everthread.embedders.calibration import EmbedderState, measure_calibration
from everthread.embedders.embedded import EmbeddedQuestion, EmbeddedText
from everthread.embedders.token_vectors import MAX_TOKENS, QuestionTokens, TokenEmbedder, token_scheme_of
from everthread.errors import ModelError
from everthread.text.analyzer import is_unspaced_script
from everthread.text.gloss import gloss, is_glossed
from everthread.text.line_features import split_for_embedding
from everthread.types import LineTokens, TokenCodes, Vector, Vectors

log = logging.getLogger("everthread")

COOLDOWN_S = 30.0  # an embedder that failed is not called for this long, so that lines are stored without a delay
BLANK = "…"  # embedded in place of a line without text; its vector is close to no other


class Encoder:
    """Embeds texts and questions with one embedder. Thread-safe if the embedder is."""

    def __init__(self, embedder: Embedder, state: EmbedderState | None = None) -> None:
        """Wrap an embedder.

        Args:
            embedder: the model.
            state: the model's state, if several encoders share it.
        """
        self.embedder = embedder
        self.state = EmbedderState() if state is None else state

    @property
    def name(self) -> str:
        """The model's name."""
        return self.embedder.name

    @property
    def token_scheme(self) -> str:
        """The scheme of the codes of words that the model gives; "" if it gives none."""
        return token_scheme_of(self.embedder)

    def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Embed texts.

        Args:
            texts: texts of any length.

        Returns:
            For each text the vectors of its pieces, and the codes of its first words.

        Raises:
            ModelError: the embedder fails, or returns vectors of a wrong shape.
        """
        pieces_by_text = [split_for_embedding(self._make_readable(text) or text) or [BLANK] for text in texts]
        all_pieces = [piece for pieces in pieces_by_text for piece in pieces]
        vectors, codes = shapes.embed_texts_with_tokens(self.embedder, all_pieces)  # (N, E, D)
        embedded: list[EmbeddedText] = []
        end = 0
        for pieces in pieces_by_text:
            start, end = end, end + len(pieces)
            embedded.append(
                EmbeddedText(vectors[start:end].reshape(-1, vectors.shape[-1]), self._join(codes[start:end]))
            )
        return embedded

    def _join(self, codes: Sequence[TokenCodes]) -> LineTokens | None:
        return LineTokens(self.token_scheme, np.concatenate(codes)[:MAX_TOKENS]) if codes else None

    def try_embed(self, texts: Sequence[str]) -> list[EmbeddedText] | None:
        """Embed texts as `embed` does; None while the embedder is down."""
        if time.monotonic() < self.state.retry_at:
            return None
        try:
            return self.embed(texts)
        except ModelError as error:
            self._start_cooldown(error)
            return None

    def try_embed_vectors(self, texts: Sequence[str]) -> list[Vectors] | None:
        """Return for each text the (N, D) vectors of its pieces; None while the embedder is down."""
        embedded = self.try_embed(texts)
        return None if embedded is None else [text.vectors for text in embedded]

    def begin_query(self, text: str) -> None:
        """Begin to embed a question in another thread. The next call with this text waits for it."""
        self.state.questions.begin(text, self._embed_query)

    def try_embed_query(self, text: str) -> Vector | None:
        """Embed a question, which also calibrates the model.

        Args:
            text: the question.

        Returns:
            The (D,) vector, or (Q, D) if the model returns several; None while the embedder is down, and for a script
            that the model can't read.
        """
        question = self.try_embed_question(text)
        return None if question is None else question.vector

    def try_embed_question(self, text: str) -> EmbeddedQuestion | None:
        """Embed a question as `try_embed_query` does, with its words."""
        begun = self.state.questions.take(text)
        return self._embed_query(text) if begun is None else begun.result()

    def _embed_query(self, text: str) -> EmbeddedQuestion | None:
        if time.monotonic() < self.state.retry_at or (readable := self._make_readable(text)) is None:
            return None
        try:
            vector, tokens = shapes.embed_question_with_tokens(self.embedder, readable)
            # Afterwards, because one text times out sooner than many.
            self.state.scale = self.state.scale or measure_calibration(self.embedder, vector.shape[-1])
            return EmbeddedQuestion(vector, tokens)
        except ModelError as error:
            self._start_cooldown(error)
            return None

    def _make_readable(self, text: str) -> str | None:
        """Return a text in a script that the embedder reads: Chinese as a gloss for one that reads only English.

        None for another script without spaces, and if too few words are known for a gloss.
        """
        if self.embedder.multilingual or not is_unspaced_script(text):
            return text
        return (is_glossed(text) and gloss(text)) or None

    def calibrate(self, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scale (C,) cosines to those of the shipped model; unchanged before the first question is embedded."""
        return cosines if self.state.scale is None else self.state.scale.to_shipped(cosines)

    def resume(self) -> None:
        """End the pause after a failure, so that the next text is embedded."""
        self.state.retry_at = 0.0

    def with_query_cache(self) -> Encoder:
        """Return an encoder of the same model and state that embeds each question once."""
        return Encoder(_CachedEmbedder(self.embedder), self.state)

    def within(self, deadline: Deadline) -> Encoder:
        """Return an encoder of the same model and state that embeds questions only until a deadline."""
        return _TimedEncoder(self.embedder, self.state, deadline)

    def _start_cooldown(self, error: ModelError) -> None:
        self.state.retry_at = time.monotonic() + COOLDOWN_S
        log.warning("embedder failed; lines are stored and found by their words, run reindex later: %s", error)


class _TimedEncoder(Encoder):
    """An encoder whose questions have no vector if the deadline does not allow to embed them."""

    def __init__(self, embedder: Embedder, state: EmbedderState, deadline: Deadline) -> None:
        super().__init__(embedder, state)
        self._deadline = deadline

    def try_embed_question(self, text: str) -> EmbeddedQuestion | None:
        if (begun := self.state.questions.take(text)) is not None:
            return self._deadline.wait_for(begun, None)
        return self._deadline.call(lambda: self._embed_query(text), None)


class _CachedEmbedder:
    """An embedder that embeds each question once, however many banks are searched for it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}
        self._tokens: dict[str, QuestionTokens] = {}
        self.name, self.multilingual = embedder.name, embedder.multilingual
        self.token_scheme = token_scheme_of(embedder)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed_query(text)
        return self._vectors[text]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        assert isinstance(self._embedder, TokenEmbedder)
        return self._embedder.embed_with_tokens(texts)

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        assert isinstance(self._embedder, TokenEmbedder)
        if text not in self._tokens:
            self._vectors[text], self._tokens[text] = self._embedder.embed_query_with_tokens(text)
        return self._vectors[text], self._tokens[text]
