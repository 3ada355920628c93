"""Fills a context: chooses the lines that fit into a budget of tokens. Pure.

Lines are tried in this order: the hits, best first; the neighbours of the hits, best hit first; the lines of the
relevance buffer, newest passage first. Lines are taken whole. A line that is too long for the room left is skipped, and
shorter ones after it are still tried; of a hit that alone would exceed the budget, an excerpt is taken. If there is no
room for the best hit, the context is empty, because a reader would take the remaining lines for everything that is
known. The text has the lines in the order in which they were said.

If the relevances of hits are calibrated, they are the chances that a hit answers the query, and their sum is what the
query can be expected to find. With `min_gain`, the best hit is tried first, then the others by their chance for each
token, as for a knapsack (Dantzig 1957); a hit whose share of the sum is too small for its share of the budget is left
out, so that a context may end before its budget. The same holds for neighbours, with a tenth of the hit's chance.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from everthread.recall.excerpt import choose_excerpt
from everthread.text.formatting import (
    GAP_MARK,
    Day,
    Source,
    day_of,
    format_heading,
    format_line,
    format_lines,
    sort_key,
)
from everthread.text.tokens import TokenCounter
from everthread.types import Context, Hit, Line

MAX_EXCERPT_SHARE = 0.5  # of the budget
MAX_HEADING_TOKENS = 100  # by any tokenizer
NEIGHBOUR_SHARE = 0.1  # of the chance of its hit; few neighbours answer a query themselves, but they explain the hit


def fill_context(
    hits: Sequence[Hit],
    buffer_lines: Iterable[Line],
    budget: int,
    count: TokenCounter,
    relevance: float,
    query_terms: Collection[str] = (),
    min_gain: float = 0.0,
) -> Context:
    """Fill a context with hits and the lines of the relevance buffer.

    Args:
        hits: the hits, best first.
        buffer_lines: the lines of the buffer, newest passage first.
        budget: tokens of the text at most.
        count: counts the tokens of a text.
        relevance: the query relevance.
        query_terms: the terms of the query, by which an excerpt is chosen.
        min_gain: the least share of what the query can be expected to find that a line must add, for its share of the
            budget; 0 fills the budget, best hit first.
    """
    chosen: dict[Hashable, Source] = {}
    spent = 0  # tokens
    days: set[Day] = set()
    count = lru_cache(maxsize=None)(count)  # each line is counted more than once
    shortened = [_shorten(hit, query_terms, budget, count) for hit in hits]
    for line in (*_order_hits(shortened, min_gain, budget, count), *buffer_lines):
        if _identity(line) in chosen or spent + count(format_line(line)) > budget:  # a quick check that most lines fail
            continue
        cost = _max_cost(line, days, count)
        if spent + cost <= budget:
            spent += cost
            chosen[_identity(line)] = line
            days.add(day_of(line))
    if hits and _identity(hits[0].source) not in chosen:
        chosen.clear()
    text = format_lines(list(chosen.values()))
    while chosen and count(text) > budget:  # headings repeat if conversations were held at the same time
        chosen.popitem()
        text = format_lines(list(chosen.values()))
    lines = tuple(sorted(chosen.values(), key=sort_key))
    included = tuple(hit for hit in hits if _identity(hit.source) in chosen)
    cut = tuple(hit for hit in hits if _identity(hit.source) not in chosen)
    return Context(text, count(text) if text else 0, lines, included, cut, relevance)


def _identity(source: Source) -> Hashable:
    """Return the identity of a line or a unit within its bank."""
    return source.seq if isinstance(source, Line) else (source.unit.kind, source.unit.id)


def _shorten(hit: Hit, query_terms: Collection[str], budget: int, count: TokenCounter) -> Hit:
    """Return a hit, with an excerpt of its text if that would exceed the budget alone."""
    source = hit.source
    if MAX_HEADING_TOKENS + count(format_line(source)) <= budget or _max_cost(source, (), count) <= budget:
        return hit
    room = int(MAX_EXCERPT_SHARE * budget) - _max_cost(_with_text(source, ""), (), count)
    text = choose_excerpt(source.text, query_terms, room, count)
    return hit if text is None else replace(hit, source=_with_text(source, text))


def _with_text(source: Source, text: str) -> Source:
    return replace(source, text=text) if isinstance(source, Line) else source.with_text(text)


def _order_hits(hits: Sequence[Hit], min_gain: float, budget: int, count: TokenCounter) -> Iterable[Source]:
    """Yield the lines and units of hits that are worth their tokens, in the order in which they are tried."""
    least = min_gain * sum(hit.relevance for hit in hits) / budget
    costs: dict[Hashable, int] = {}  # a line may be next to several hits

    def gain(source: Source, chance: float) -> float:
        """Return the chance that each token adds."""
        if (name := _identity(source)) not in costs:
            costs[name] = _max_cost(source, (), count)
        return chance / max(1, costs[name])

    worth = list(hits)
    if min_gain:
        others = sorted(hits[1:], key=lambda hit: -gain(hit.source, hit.relevance))
        worth = [*hits[:1], *(hit for hit in others if gain(hit.source, hit.relevance) >= least)]
    yield from (hit.source for hit in worth)
    for hit in worth:
        around = (line for line in hit.passage if _identity(line) != _identity(hit.source))
        yield from (line for line in around if not least or gain(line, NEIGHBOUR_SHARE * hit.relevance) >= least)


def _max_cost(line: Source, days: Collection[Day], count: TokenCounter) -> int:
    """Return the most tokens that a line can add: its own, and those of a heading, or of a gap and line ends."""
    lead = f"\n\n{format_heading(line)}\n" if day_of(line) not in days else f"\n{GAP_MARK}\n"
    return count(f"{lead}{format_line(line)}")
