"""An embedder as banks use it: long texts in pieces, a pause after a failure, cosines on the shipped model's scale."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everthread.embedders import shapes
from everthread.embedders.base import Embedder
from everthread.embedders.calibration import EmbedderState, measure_calibration
from everthread.errors import ModelError
from everthread.text.analyzer import is_unspaced_script
from everthread.text.line_features import split_for_embedding
from everthread.types import Vector, Vectors

log = logging.getLogger("everthread")

COOLDOWN_S = 30.0  # without calls to an embedder that has just failed, so that lines are stored without a delay
BLANK = "…"  # embedded for a line without text, so that its vector is near to no other
FAILURES = (ModelError, RuntimeError, OSError)  # of an embedder: RuntimeError from torch, OSError from sockets


class Encoder:
    """Embeds texts and questions with one embedder. Thread-safe, as the embedder is."""

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
        parts = [split_for_embedding(text) or [BLANK] for text in texts]
        made = shapes.embed_texts(self.embedder, [piece for part in parts for piece in part])  # (N, E, D)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        return [each.reshape(-1, each.shape[-1]) for each in np.split(made, ends)]

    def try_embed(self, texts: Sequence[str]) -> list[Vectors] | None:
        """Embed texts as `embed` does; None while the embedder is down."""
        if time.monotonic() < self.state.retry_at:
            return None
        try:
            return self.embed(texts)
        except FAILURES as error:
            self._start_cooldown(error)
            return None

    def try_embed_query(self, text: str) -> Vector | None:
        """Embed a question, which also calibrates the model.

        Args:
            text: the question.

        Returns:
            The (D,) vector, or (Q, D) if the model returns several; None while the embedder is down, and for a script
            that it can't read.
        """
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
        """Move (C,) cosines to the shipped model's scale; unchanged as long as no question was embedded."""
        return cosines if self.state.scale is None else self.state.scale.to_shipped(cosines)

    def resume(self) -> None:
        """End the pause after a failure: the next text is embedded again."""
        self.state.retry_at = 0.0

    def with_query_cache(self) -> Encoder:
        """Return an encoder of the same model and state that embeds each question once."""
        return Encoder(_CachedEmbedder(self.embedder), self.state)

    def _start_cooldown(self, error: Exception) -> None:
        self.state.retry_at = time.monotonic() + COOLDOWN_S
        log.warning("embedder failed; lines are stored and found by their words, run reindex later: %s", error)


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
