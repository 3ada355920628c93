"""The values that a memory, a recipe and the stages of recall exchange."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import Filter, Hit, Seqs, Unit


@dataclass(frozen=True, slots=True)
class Query:
    """A query to a bank, with its restrictions.

    Attributes:
        text: its text.
        where: restricts the lines or units that may be found.
        as_of: the moment as of which the bank is read; later lines are ignored.
        exclude: numbers of lines that are in the prompt already; they are neither found nor shown.
        notes: the notes that are in the prompt already.
    """

    text: str
    where: Filter | None = None
    as_of: datetime | None = None
    exclude: Collection[int] = frozenset()
    notes: Unit | None = None


class ScoredLine(NamedTuple):
    """A line that a recipe chose for a query, before its text is read."""

    seq: int
    score: float
    relevance: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits for a query, and the query relevance.

    Attributes:
        hits: the hits, best first.
        relevance: the query relevance, from 0 to 1: how likely it is that the bank has anything relevant.
        passes: whether the query passes the relevance gate; if not, its context has no hits.
        terms: the terms of the query, by which excerpts of long lines are chosen.
        allowed: the numbers of the lines that may be shown, ascending; None: all lines.
        calibrated: whether the hits are ordered by relevances that are probabilities, so that a context may weigh them
            against the hits' tokens.
        is_overview: whether the query asks what was said, at a time or at all, and has no other topic.
    """

    hits: list[Hit] = field(default_factory=list)
    relevance: float = 0.0
    passes: bool = False
    terms: tuple[str, ...] = ()
    allowed: Seqs | None = None
    calibrated: bool = False
    is_overview: bool = False


class RankedLines(NamedTuple):
    """The lines that a recipe chose for a query, best first, and the result of the search without their hits."""

    lines: Sequence[ScoredLine]
    result: SearchResult


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """The limits of one context.

    Attributes:
        tokens: tokens of the text at most.
        count: counts the tokens of a text.
        session: the session whose relevance buffer is part of the context; None: no buffer.
        exclude: numbers of lines that are in the prompt already.
        gate: whether the relevance gate applies.
        min_relevance: relevance below which a hit is left out; None: the recipe's.
    """

    tokens: int
    count: TokenCounter = estimate_tokens
    session: str | None = None
    exclude: Collection[int] = frozenset()
    gate: bool = True
    min_relevance: float | None = None
