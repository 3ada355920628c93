"""Wraps an embedder for banks: splits long texts, pauses after a failure, and calibrates cosines."""

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
from everthread.errors import ModelError
from everthread.text.analyzer import is_unspaced_script
from everthread.text.line_features import split_for_embedding
from everthread.types import Vector, Vectors

log = logging.getLogger("everthread")

COOLDOWN_S = 30.0  # an embedder that failed is not called for this long, so that lines are stored without a delay
BLANK = "…"  # embedded in place of a line without text; its vector is close to no other
FAILURES = (ModelError, RuntimeError, OSError)  # of an embedder: torch raises RuntimeError, sockets raise OSError


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

    def embed(self, texts: Sequence[str]) -> list[Vectors]:
        """Embed texts.

        Args:
            texts: texts of any length.

        Returns:
            For each text the (N, D) vectors of its pieces.

        Raises:
            ModelError: the embedder fails, or returns vectors of a wrong shape. It may also raise RuntimeError and
                OSError (`FAILURES`).
        """
        pieces_by_text = [split_for_embedding(text) or [BLANK] for text in texts]
        all_pieces = [piece for pieces in pieces_by_text for piece in pieces]
        vectors = shapes.embed_texts(self.embedder, all_pieces)  # (N, E, D)
        ends = np.cumsum([len(pieces) for pieces in pieces_by_text])[:-1]
        return [part.reshape(-1, part.shape[-1]) for part in np.split(vectors, ends)]

    def try_embed(self, texts: Sequence[str]) -> list[Vectors] | None:
        """Embed texts as `embed` does; None while the embedder is down."""
        if time.monotonic() < self.state.retry_at:
            return None
        try:
            return self.embed(texts)
        except FAILURES as error:
            self._start_cooldown(error)
            return None

    def begin_query(self, text: str) -> None:
        """Begin to embed a question in another thread. The next `try_embed_query` with this text waits for it."""
        self.state.questions.begin(text, self._embed_query)

    def try_embed_query(self, text: str) -> Vector | None:
        """Embed a question, which also calibrates the model.

        Args:
            text: the question.

        Returns:
            The (D,) vector, or (Q, D) if the model returns several; None while the embedder is down, and for a script
            that the model can't read.
        """
        begun = self.state.questions.take(text)
        return self._embed_query(text) if begun is None else begun.result()

    def _embed_query(self, text: str) -> Vector | None:
        if time.monotonic() < self.state.retry_at or (is_unspaced_script(text) and not self.embedder.multilingual):
            return None
        try:
            vector = shapes.embed_question(self.embedder, text)  # first: one text times out sooner than many
            self.state.scale = self.state.scale or measure_calibration(self.embedder, vector.shape[-1])
            return vector
        except FAILURES as error:
            self._start_cooldown(error)
            return None

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

    def _start_cooldown(self, error: Exception) -> None:
        self.state.retry_at = time.monotonic() + COOLDOWN_S
        log.warning("embedder failed; lines are stored and found by their words, run reindex later: %s", error)


class _TimedEncoder(Encoder):
    """An encoder whose questions have no vector if the deadline does not allow to embed them."""

    def __init__(self, embedder: Embedder, state: EmbedderState, deadline: Deadline) -> None:
        super().__init__(embedder, state)
        self._deadline = deadline

    def try_embed_query(self, text: str) -> Vector | None:
        if (begun := self.state.questions.take(text)) is not None:
            return self._deadline.wait_for(begun, None)
        return self._deadline.call(lambda: self._embed_query(text), None)


class _CachedEmbedder:
    """An embedder that embeds each question once, however many banks are searched for it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}
        self.name, self.multilingual = embedder.name, embedder.multilingual

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed_query(text)
        return self._vectors[text]
