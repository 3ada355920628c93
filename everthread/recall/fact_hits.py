"""Places facts among the hits of a query, where the lines that state them are.

A fact that answers takes the place of its most relevant line, with the relevance and the passage of that line; the
other lines that state it are left out. The values of an attribute that has one at a time answer the same question, so
they take the place of the best of their lines together, the one that holds first. A fact without a place is left out.
All that is known of someone, if a query asks for that, comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from everthread.facts.attributes import is_single
from everthread.facts.selection import select_facts
from everthread.facts.types import Fact
from everthread.recall.fact_context import FactSource, ask_overview, find_overview
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.recall.types import Query
from everthread.types import Filter, FoundUnit, Hit, Line, now

SEARCH_DEPTH = 50  # hits among which the lines of facts are looked for

ReadLines = Callable[[Sequence[int]], list[Line]]


class _Placed(NamedTuple):
    """A fact, its place among the hits, and the score and relevance that it gets there."""

    fact: Fact
    place: int
    score: float
    relevance: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The facts that answer a query.

    Attributes:
        facts: the facts, the most relevant first.
        is_overview: whether the query asks for all that is known of someone, or for what has changed.
    """

    facts: tuple[Fact, ...] = ()
    is_overview: bool = False


def find_answer(query: Query, source: FactSource) -> Answer:
    """Find the facts that answer a query, also what was replaced.

    A query with a filter has none, because facts follow from all lines.

    Args:
        query: the query.
        source: what is known.
    """
    if not source.known.stored or query.where not in (None, Filter()):
        return Answer()
    if overview := _without_excluded(find_overview(ask_overview(query), query, source), query):
        return Answer(overview, is_overview=True)
    moment, is_past = query.as_of or now(), query.as_of is not None
    found = select_facts(query.text, source.known, source.find_asker, moment, is_past=is_past, with_replaced=True)
    return Answer(_without_excluded(found, query))


def place_facts(
    hits: Sequence[Hit], answer: Answer, build: Callable[[Fact], FoundUnit], read_lines: ReadLines
) -> list[Hit]:
    """Return the hits with facts in the place of their lines.

    Args:
        hits: the hits, best first.
        answer: the facts.
        build: builds the unit of a fact.
        read_lines: reads the lines with these numbers.
    """
    if answer.is_overview:
        score = max((hit.score for hit in hits), default=0.0)
        placed = [_Placed(fact, -1, score, OVERVIEW_RELEVANCE) for fact in answer.facts]
    else:
        placed = _find_places(hits, answer.facts)
    stated = {seq for each in placed for seq in each.fact.seqs}
    left = [(place, hit) for place, hit in enumerate(hits) if hit.kind != "line" or hit.seq not in stated]
    built = zip((each.place for each in placed), _build_hits(hits, placed, build, read_lines), strict=True)
    return [hit for _, hit in sorted([*built, *left], key=lambda pair: pair[0])]


def _without_excluded(found: Sequence[Fact], query: Query) -> tuple[Fact, ...]:
    """Return the facts whose lines are not in the prompt already."""
    return tuple(fact for fact in found if fact.seqs and set(query.exclude).isdisjoint(fact.seqs))


def _find_places(hits: Sequence[Hit], found: Sequence[Fact]) -> list[_Placed]:
    """Return the facts that have a place, in their order."""
    places = {hit.seq: place for place, hit in enumerate(hits) if hit.kind == "line"}
    own = [min((places[seq] for seq in fact.seqs if seq in places), default=len(hits)) for fact in found]
    shared: dict[tuple[str, str], int] = {}
    for fact, place in zip(found, own, strict=True):
        if is_single(fact.attribute):
            key = fact.subject, fact.attribute
            shared[key] = min(place, shared.get(key, place))
    best = [shared.get((fact.subject, fact.attribute), place) for fact, place in zip(found, own, strict=True)]
    return [
        _Placed(fact, place, hits[place].score, hits[place].relevance)
        for fact, place in zip(found, best, strict=True)
        if place < len(hits)
    ]


def _build_hits(
    hits: Sequence[Hit], placed: Sequence[_Placed], build: Callable[[Fact], FoundUnit], read_lines: ReadLines
) -> list[Hit]:
    """Build the hits of facts. Of several with one line, the first has its passage."""
    by_seq = {hit.seq: hit for hit in reversed(hits) if hit.kind == "line"}
    best = [next((hit.seq for hit in hits if hit.seq in each.fact.seqs), each.fact.seqs[-1]) for each in placed]
    read = {line.seq: line for line in read_lines(sorted(set(best).difference(by_seq)))}
    built, shown = [], set[int]()
    for (fact, _, score, relevance), seq in zip(placed, best, strict=True):
        hit, line = by_seq.get(seq), read.get(seq)
        passage = hit.passage if hit else (line,) if line else ()
        unit = replace(build(fact), session=passage[0].session if passage else "")
        signals = hit.signals if hit else {}
        built.append(Hit(unit, score, relevance, signals, () if seq in shown else passage))
        shown.add(seq)
    return built
