"""Rerankers: hits in, best first; hits out, best first, by another measure than the one that found them.

Each adds its own number to a hit's signals, under its name, and leaves everything else of the hit as it was: score and
relevance stay those of the recall, so it is the order of the list that tells. Hits of one number keep the order given.
What is judged is the hit's line without what it quotes of recalled lines; the passage around it is not looked at.
Here are those that need no model, pure but for a clock; `models.py` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

from everthread.bank.validation import check_at_least
from everthread.errors import BadInput, ModelError
from everthread.recall.recency_importance import ScoreWeights
from everthread.text.analyzer import remove_quotes
from everthread.text.keywords import count_shared, keywords
from everthread.text.tokenized_text import MAX_IMPORTANCE
from everthread.types import Hit, Line, Unit


class Reranker(Protocol):
    """Puts hits into another order, and may leave some out. It invents none and changes no line."""

    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """The hits, best first, each with this reranker's number among its signals."""
        ...


class KeywordOverlap:
    """Orders hits by how many of their top keywords they share with the query: Emi's "keyword overlap score".

    Emi takes the first hit, and none if none shares a keyword. No model is called.
    """

    name = "keywords"

    def __init__(self, top: int = 20, ignored_names: Collection[str] = (), min_shared: int = 1) -> None:
        """Make the reranker.

        Args:
            top: keywords of each text that are compared.
            ignored_names: names that count for nothing, such as the bot's own.
            min_shared: keywords that a hit must share with the query to be kept; 0 keeps all hits.

        Raises:
            BadInput: for a `top` below 1, a `min_shared` below 0, or one name in place of names.
        """
        if isinstance(ignored_names, str):
            raise BadInput(f"ignored_names must be names, got the text {ignored_names!r}; write [{ignored_names!r}]")
        self._top = check_at_least(top, "top", 1)
        self._min_shared = check_at_least(min_shared, "min_shared", 0)
        self._ignored_names = tuple(ignored_names)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """A blank query has no keywords, so nothing shares any."""
        asked = keywords(query, self._top)
        shared = [count_shared(asked, keywords(judged_text(hit), self._top), self._ignored_names) for hit in hits]
        return [hit for hit in sort_by_signal(self.name, hits, shared) if hit.signals[self.name] >= self._min_shared]


def get_importance(source: Line | Unit) -> float | None:
    """Return a unit's importance, or what a line's metadata has as "importance"; None if it is no number, 1 to 10."""
    value = source.metadata.get("importance") if isinstance(source, Line) else source.importance
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 1 <= value <= MAX_IMPORTANCE else None


class RecencyImportance:
    """By relevance, recency and importance together: the weighted sum of the three, each in 0..1.

    Park et al., "Generative agents: interactive simulacra of human behavior", UIST 2023, as goodai-ltm takes it over:
    recency halves with every half-life ("exponential"), or is 1 / (1 + age / half-life) ("inverse"), and an importance
    of 1 to 10 is scaled to 0..1. Unlike theirs, the age is counted from when a line was said, not from when it was last
    recalled, and nothing is scaled to the hits at hand: a hit's number is the same whatever stands beside it.

    now is the present moment, or a clock, for a reranker that lives long. weights are those of relevance, recency and
    importance. importance rates a line from 1 to 10, to the nearest whole number; None counts as 1. By default it is
    the one in the metadata; `lambda line: scribe.rate_importance(line.text)` asks a scribe, which costs a call per hit
    if the scribe uses a model. Otherwise no model is called. Raises BadInput for numbers that can't be used.
    """

    name = "recency_importance"

    def __init__(
        self,
        now: datetime | Callable[[], datetime],
        half_life_days: float,
        decay: Literal["exponential", "inverse"] = "exponential",
        weights: tuple[float, float, float] = (1, 1, 1),
        importance: Callable[[Line | Unit], float | None] = get_importance,
    ) -> None:
        if len(weights) != 3 or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
            raise BadInput(f"weights can't be {weights!r}; give three numbers from 0: relevance, recency, importance")
        try:
            half_life = timedelta(days=half_life_days)
        except (ValueError, OverflowError) as error:
            raise BadInput(f"a half-life can't be {half_life_days} days; give a number above zero") from error
        self._weighing = ScoreWeights(*weights, half_life=half_life, decay=decay)
        self._now = now
        self._importance = importance
        if isinstance(now, datetime):
            _aware(now)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """The query is not looked at: how relevant a hit is, it says itself."""
        present = self._now if isinstance(self._now, datetime) else _aware(self._now())
        scores = [self._weighing.score(hit.relevance, present - hit.said_at, self._rating(hit)) for hit in hits]
        return sort_by_signal(self.name, hits, scores)

    def _rating(self, hit: Hit) -> int | None:
        source = hit.line if isinstance(hit.source, Line) else hit.unit
        rating = self._importance(source)
        if rating is not None and not 1 <= rating <= MAX_IMPORTANCE:
            number = source.seq if isinstance(source, Line) else source.id
            raise BadInput(f"{hit.kind} {number} has an importance of {rating}; rate lines from 1 to {MAX_IMPORTANCE}")
        return None if rating is None else round(rating)


def judged_text(hit: Hit) -> str:
    """What is judged of a hit."""
    source = hit.source
    return (remove_quotes(source.text, source.metadata) if isinstance(source, Line) else hit.text).strip() or "…"


def sort_by_signal(name: str, hits: Sequence[Hit], numbers: Sequence[float]) -> list[Hit]:
    """The hits by their numbers, the greatest first; sorting is stable, so equals stay as they were."""
    if not all(math.isfinite(number) for number in numbers):
        raise ModelError(f"{name} gave a number that is not finite: {list(numbers)[:8]}; check the model")
    rated = [add_signal(hit, name, number) for hit, number in zip(hits, numbers, strict=True)]
    return sorted(rated, key=lambda hit: -hit.signals[name])


def add_signal(hit: Hit, name: str, number: float) -> Hit:
    """The hit with one signal more."""
    return replace(hit, signals={**hit.signals, name: float(number)})


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise BadInput(f"now can't be {moment}, which has no time zone; give one, as datetime.now(UTC) has")
    return moment
