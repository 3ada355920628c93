"""Fills a context: chooses the lines that fit into a budget of tokens. Pure.

Lines are tried in this order: the hits, best first; the neighbours of the hits, best hit first; the lines of the
relevance buffer, newest passage first. A line that is too long for the room left is skipped, and shorter ones after it
are still tried. If there is no room for the best hit, the context is empty, because a reader would take the remaining
lines for everything that is known. The text has the lines in the order in which they were said.

Lines are taken whole, except that of a hit that alone would exceed the budget an excerpt is taken. With `min_gain`,
this holds for every long line, so that one long reply does not take the room of ten other hits; where room is left at
the end, lines get their whole texts again.

If the relevances of hits are calibrated, they are the chances that a hit answers the query, and their sum is what the
query can be expected to find. With `min_gain`, the best hit is tried first, then the others by their chance for each
token, as for a knapsack (Dantzig 1957); a hit whose share of the sum is too small for its share of the budget is left
out, so that a context may end before its budget. The same holds for neighbours, with a tenth of the hit's chance.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

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
LONG_LINE_TOKENS = 260  # a line with more, including a heading, is long
EXCERPT_TOKENS = 180  # of a long line, including a heading
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
    costs = _Costs(count)
    shortened = [_shorten_long(hit, query_terms, budget, min_gain > 0, costs) for hit in hits]
    for line in (*_order_hits(shortened, min_gain, budget, costs), *buffer_lines):
        if identify_source(line) in chosen:
            continue
        cost = costs.estimate(line, days)
        if spent + cost <= budget:
            spent += cost
            chosen[identify_source(line)] = line
            days.add(day_of(line))
    if hits and identify_source(hits[0].source) not in chosen:
        chosen.clear()
    _restore(chosen, hits, budget - spent, costs)
    text = format_lines(list(chosen.values()))
    while chosen and count(text) > budget:  # headings repeat if conversations were held at the same time
        chosen.popitem()
        text = format_lines(list(chosen.values()))
    lines = tuple(sorted(chosen.values(), key=sort_key))
    included = tuple(hit for hit in hits if identify_source(hit.source) in chosen)
    cut = tuple(hit for hit in hits if identify_source(hit.source) not in chosen)
    return Context(text, count(text) if text else 0, lines, included, cut, relevance)


class _Costs:
    """Counts the tokens of lines and headings, of each once."""

    def __init__(self, count: TokenCounter) -> None:
        self.count = count
        self._lines: dict[tuple[Hashable, str], int] = {}
        self._headings: dict[Day, int] = {}

    def estimate(self, source: Source, days: Collection[Day] = ()) -> int:
        """Return the most tokens that a line can add: its own, and those of a heading, or of a gap and line ends.

        Args:
            source: the line.
            days: those that have a heading already.
        """
        day = day_of(source)
        if day in days:
            return self.count_line(source) + self._gap
        if day not in self._headings:
            self._headings[day] = self.count(f"\n\n{format_heading(source)}\n")
        return self.count_line(source) + self._headings[day]

    def count_line(self, source: Source) -> int:
        """Count the tokens of a line alone."""
        key = identify_source(source), source.text
        if key not in self._lines:
            self._lines[key] = self.count(format_line(source))
        return self._lines[key]

    @cached_property
    def _gap(self) -> int:
        return self.count(f"\n{GAP_MARK}\n")


def identify_source(source: Source) -> Hashable:
    """Return the identity of a line or a unit within its bank."""
    return source.seq if isinstance(source, Line) else (source.unit.kind, source.unit.id)


def _shorten_long(hit: Hit, query_terms: Collection[str], budget: int, any_long: bool, costs: _Costs) -> Hit:
    """Return a hit with an excerpt of its text if that alone would exceed the budget; with `any_long`, if it is long.

    With `any_long`, the hit's neighbours are shortened, too.
    """
    longest, room = budget, int(MAX_EXCERPT_SHARE * budget)
    if any_long and isinstance(hit.source, Line):
        longest, room = min(longest, LONG_LINE_TOKENS), min(room, EXCERPT_TOKENS)

    def shorten(source: Source) -> str:
        if costs.estimate(source) <= longest:
            return source.text
        rest = room - costs.estimate(_with_text(source, ""))
        return choose_excerpt(source.text, query_terms, rest, costs.count) or source.text

    passage = tuple(replace(line, text=shorten(line)) for line in hit.passage) if any_long else hit.passage
    return replace(hit, source=_with_text(hit.source, shorten(hit.source)), passage=passage)


def _restore(chosen: dict[Hashable, Source], hits: Iterable[Hit], room: int, costs: _Costs) -> None:
    """Replace excerpts with the whole texts, those of the best hits first, while there is room for them."""
    for source in (source for hit in hits for source in (hit.source, *hit.passage)):
        key = identify_source(source)
        if key in chosen and chosen[key].text != source.text:
            more = costs.count_line(source) - costs.count_line(chosen[key])
            if more <= room:
                chosen[key] = source
                room -= more


def _with_text(source: Source, text: str) -> Source:
    return replace(source, text=text) if isinstance(source, Line) else source.with_text(text)


def _order_hits(hits: Sequence[Hit], min_gain: float, budget: int, costs: _Costs) -> Iterable[Source]:
    """Yield the lines and units of hits that are worth their tokens, in the order in which they are tried."""
    least = min_gain * sum(hit.relevance for hit in hits) / budget

    def gain(source: Source, chance: float) -> float:
        """Return the chance that each token adds."""
        return chance / max(1, costs.estimate(source))

    worth = list(hits)
    if min_gain:
        others = sorted(hits[1:], key=lambda hit: -gain(hit.source, hit.relevance))
        worth = [*hits[:1], *(hit for hit in others if gain(hit.source, hit.relevance) >= least)]
    yield from (hit.source for hit in worth)
    for hit in worth:
        around = (line for line in hit.passage if identify_source(line) != identify_source(hit.source))
        yield from (line for line in around if not least or gain(line, NEIGHBOUR_SHARE * hit.relevance) >= least)
