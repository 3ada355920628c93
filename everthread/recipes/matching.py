"""How well texts answer a query, as another model says than the one that found them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from everthread.errors import ModelError


class Matcher(Protocol):
    """Says how well texts answer a query: a cross-encoder, another embedding model, a language model."""

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """A probability from 0 to 1 for each passage, in order."""
        ...


def confidences(matcher: Matcher, query: str, texts: Sequence[str]) -> list[float]:
    """The matcher's probabilities. ModelError where it fails, or does not give each text a number."""
    scores = list(matcher.score(query, texts))
    if len(scores) != len(texts) or not all(math.isfinite(score) for score in scores):
        raise ModelError(f"the matcher gave {len(scores)} scores for {len(texts)} passages; each needs a number")
    return [float(score) for score in scores]
