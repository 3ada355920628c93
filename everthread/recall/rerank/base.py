"""Rerankers put the hits of a query in another order.

A reranker adds its own number to the signals of each hit, under its name. Score and relevance stay those of the recall,
so only the order of the list shows the result. Hits of equal numbers keep their order. A reranker judges the text of
the line, without its quotes of recalled lines and without its passage.

This module has the rerankers that need no model; they are pure, except for a clock. `models` has the others. To name a
new one in settings, add it to `RERANKER_NAMES` and `RerankerOpener.open` in `names`, and to the description of the
option `rerank` in `recipes.default`.
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
    """Reorders hits. It may leave some out, but adds none and changes no line.

    If it raises an error, hits keep their order.
    """

    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit], /) -> list[Hit]:
        """Return the hits, best first, each with this reranker's number among its signals."""
        ...


class KeywordOverlap:
    """Orders hits by the number of top keywords that they share with the query: Emi's "keyword overlap score".

    Emi takes the first hit that shares a keyword, if there is one. No model is called.
    """

    name = "keywords"

    def __init__(self, top: int = 20, ignored_names: Collection[str] = (), min_shared: int = 1) -> None:
        """Create the reranker.

        Args:
            top: keywords of each text that are compared.
            ignored_names: names that don't count as keywords, such as the bot's.
            min_shared: keywords that a hit must share with the query to be kept; 0 keeps all hits.

        Raises:
            BadInput: `top` is below 1, `min_shared` is below 0, or `ignored_names` is a str.
        """
        if isinstance(ignored_names, str):
            raise BadInput(f"ignored_names must be names, got the text {ignored_names!r}; write [{ignored_names!r}]")
        self._top = check_at_least(top, "top", 1)
        self._min_shared = check_at_least(min_shared, "min_shared", 0)
        self._ignored_names = tuple(ignored_names)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by the number of shared keywords. No hit shares a keyword with a blank query."""
        of_query = keywords(query, self._top)
        shared = [count_shared(of_query, keywords(judged_text(hit), self._top), self._ignored_names) for hit in hits]
        return [hit for hit in sort_by_signal(self.name, hits, shared) if hit.signals[self.name] >= self._min_shared]


def get_importance(source: Line | Unit) -> float | None:
    """Return the importance of a unit, or of a line with a number from 1 to 10 as "importance" in its metadata."""
    value = source.metadata.get("importance") if isinstance(source, Line) else source.importance
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 1 <= value <= MAX_IMPORTANCE else None


class RecencyImportance:
    """Orders hits by the weighted sum of relevance, recency and importance, each from 0 to 1.

    Park et al., "Generative agents: interactive simulacra of human behavior", UIST 2023, as in goodai-ltm. Unlike
    theirs, the age is that of the line, not the time since it was last recalled, and a hit's number does not depend on
    the other hits. No model is called, unless `importance` calls one.
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
        """Create the reranker.

        Args:
            now: the present moment; or a clock, for a reranker that is used for longer.
            half_life_days: the age in days at which recency is 0.5.
            decay: "exponential": recency halves with every half-life; "inverse": it is 1 / (1 + age / half-life).
            weights: the weights of relevance, recency and importance.
            importance: rates a line or unit from 1 to 10, which is rounded and scaled to 0..1; None counts as 1. The
                default returns the stored importance. `lambda line: scribe.rate_importance(line.text)` asks a scribe,
                which may call a model for each hit.

        Raises:
            BadInput: a number is invalid.
        """
        if len(weights) != 3 or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
            raise BadInput(
                f"invalid weights {weights!r}; expected three numbers from 0: relevance, recency, importance"
            )
        try:
            half_life = timedelta(days=half_life_days)
        except (ValueError, OverflowError) as error:
            raise BadInput(f"invalid half-life of {half_life_days} days; expected a number above zero") from error
        self._weights = ScoreWeights(*weights, half_life=half_life, decay=decay)
        self._now = now
        self._importance = importance
        if isinstance(now, datetime):
            _check_aware(now)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by their sums. The query is ignored: each hit has its relevance."""
        present = self._now if isinstance(self._now, datetime) else _check_aware(self._now())
        ages = [None if hit.source.is_undated else present - hit.said_at for hit in hits]
        scores = [
            self._weights.score(hit.relevance, age, self._rating(hit)) for hit, age in zip(hits, ages, strict=True)
        ]
        return sort_by_signal(self.name, hits, scores)

    def _rating(self, hit: Hit) -> int | None:
        source = hit.line if isinstance(hit.source, Line) else hit.unit
        rating = self._importance(source)
        if rating is not None and not 1 <= rating <= MAX_IMPORTANCE:
            number = source.seq if isinstance(source, Line) else source.id
            raise BadInput(f"invalid importance {rating} of {hit.kind} {number}; expected 1 to {MAX_IMPORTANCE}")
        return None if rating is None else round(rating)


def judged_text(hit: Hit) -> str:
    """Return the text by which a hit is judged: that of its line or unit, without quotes of recalled lines."""
    source = hit.source
    return (remove_quotes(source.text, source.metadata) if isinstance(source, Line) else hit.text).strip() or "…"


def sort_by_signal(name: str, hits: Sequence[Hit], numbers: Sequence[float]) -> list[Hit]:
    """Add a number to the signals of each hit, and sort the hits by it, greatest first. Equal hits keep their order.

    Raises:
        ModelError: a number is not finite.
    """
    if not all(math.isfinite(number) for number in numbers):
        raise ModelError(f"{name} returned a number that is not finite: {list(numbers)[:8]}; check the model")
    rated = [add_signal(hit, name, number) for hit, number in zip(hits, numbers, strict=True)]
    return sorted(rated, key=lambda hit: -hit.signals[name])


def add_signal(hit: Hit, name: str, number: float) -> Hit:
    """Return a hit with one more signal."""
    return replace(hit, signals={**hit.signals, name: float(number)})


def _check_aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise BadInput(f"invalid now {moment}: it has no time zone; expected one such as datetime.now(UTC)")
    return moment
