"""Combines relevance, recency and importance into one score, as goodai-ltm does. Pure: ages are arguments.

The goodai recipe and the reranker `recency_importance` use it; the default recipe does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from everthread.errors import BadInput
from everthread.text.tokenized_text import MAX_IMPORTANCE


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """Weights for the sum of relevance, recency and importance, each of which is from 0 to 1.

    Attributes:
        relevance: the weight of relevance.
        recency: the weight of recency.
        importance: the weight of importance.
        half_life: the age at which recency is 0.5.
        decay: "exponential": recency halves with every half-life; "inverse": it is 1 / (1 + age / half-life).
    """

    relevance: float = 1.0
    recency: float = 0.0
    importance: float = 0.0
    half_life: timedelta = timedelta(days=1)
    decay: Literal["exponential", "inverse"] = "exponential"

    def __post_init__(self) -> None:
        if self.half_life <= timedelta(0):
            raise BadInput(f"invalid half-life {self.half_life}; expected one above zero")
        if self.decay not in ("exponential", "inverse"):
            raise BadInput(f"unknown decay {self.decay!r}; expected one of exponential, inverse")

    def score(self, relevance: float, age: timedelta | None, importance: int | None) -> float:
        """Compute the score of a passage.

        Args:
            relevance: the relevance, from 0 to 1.
            age: the age; a negative one counts as 0. None: unknown, with a recency of 0.
            importance: the importance from 1 to 10; None: unknown, counted as 1.
        """
        recency = 0.0 if age is None else self._compute_recency(max(age, timedelta(0)) / self.half_life)
        scaled_importance = 0.0 if importance is None else (importance - 1) / (MAX_IMPORTANCE - 1)
        return self.relevance * relevance + self.recency * recency + self.importance * scaled_importance

    def _compute_recency(self, half_lives: float) -> float:
        """Return the recency at an age."""
        return float(0.5**half_lives) if self.decay == "exponential" else 1 / (1 + half_lives)
