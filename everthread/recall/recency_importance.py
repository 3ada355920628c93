"""Relevance, recency and importance as one score, as goodai-ltm weighs them. Pure: ages are given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from everthread.errors import BadInput
from everthread.text.tokenized_text import MAX_IMPORTANCE


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """score = relevance · its weight + recency · its weight + importance · its weight, each of the three in 0..1."""

    relevance: float = 1.0
    recency: float = 0.0
    importance: float = 0.0
    half_life: timedelta = timedelta(days=1)  # the age at which recency is a half
    decay: Literal["exponential", "inverse"] = "exponential"

    def __post_init__(self) -> None:
        if self.half_life <= timedelta(0):
            raise BadInput(f"a half-life can't be {self.half_life}; give one above zero")
        if self.decay not in ("exponential", "inverse"):
            raise BadInput(f"recency can't decay {self.decay!r}; say exponential or inverse")

    def score(self, relevance: float, age: timedelta | None, importance: int | None) -> float:
        """The score of a passage; an age that is not known is endless, an importance that is not known the least."""
        recent = 0.0 if age is None else self._recency(max(age, timedelta(0)) / self.half_life)
        weighty = 0.0 if importance is None else (importance - 1) / (MAX_IMPORTANCE - 1)
        return self.relevance * relevance + self.recency * recent + self.importance * weighty

    def _recency(self, half_lives: float) -> float:
        return float(0.5**half_lives) if self.decay == "exponential" else 1 / (1 + half_lives)
