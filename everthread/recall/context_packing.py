"""Choosing the lines that fit into a budget of tokens. Pure.

The order of choice: the hits themselves, best first; then the neighbours of the hits, best hit first; then what the
relevance buffer still holds, newest first. Only whole lines are taken. A line too long for the room that is left is
passed over, and shorter ones after it are still taken; of a hit that would fill the whole budget an excerpt is shown.
If there is no room for the best hit, nothing is shown: the rest would pass for all that is known.
The result is laid out in the order in which lines were said.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache

from everthread.recall.excerpt import choose_excerpt
from everthread.text.formatting import GAP_MARK, Source, format_heading, format_line, format_lines, sort_key
from everthread.text.tokens import TokenCounter
from everthread.types import Context, Hit, Line

MAX_EXCERPT_SHARE = 0.5  # of the budget, the most that an excerpt takes
MAX_HEADING_TOKENS = 100  # tokens that a heading is at most, by any tokenizer

Day = tuple[str, date]  # a session, and a day on the speaker's clock


def fill_context(
    hits: Sequence[Hit],
    held: Iterable[Line],
    budget: int,
    count: TokenCounter,
    relevance: float,
    wanted: Collection[str] = (),
) -> Context:
    """Fill a context with hits and the lines of the buffer.

    Args:
        hits: the hits, best first.
        held: the lines of the buffer, newest passage first.
        budget: tokens of the text at most.
        count: counts the tokens of a text.
        relevance: the relevance of the query as a whole.
        wanted: the terms of the query, by which an excerpt is chosen.
    """
    chosen: dict[Hashable, Source] = {}
    spent = 0
    days: set[Day] = set()
    count = lru_cache(maxsize=None)(count)  # a line is looked at more than once
    for line in _wanted([_shortened(hit, wanted, budget, count) for hit in hits], held):
        if _key(line) in chosen or spent + count(format_line(line)) > budget:  # most don't fit: that is seen quickly
            continue
        cost = _cost(line, days, count)
        if spent + cost <= budget:
            spent += cost
            chosen[_key(line)] = line
            days.add(_day(line))
    if hits and _key(hits[0].source) not in chosen:
        chosen.clear()
    text = format_lines(list(chosen.values()))
    while chosen and count(text) > budget:  # headings repeat where conversations were said at the same time
        chosen.popitem()
        text = format_lines(list(chosen.values()))
    lines = tuple(sorted(chosen.values(), key=sort_key))
    kept = tuple(hit for hit in hits if _key(hit.source) in chosen)
    cut = tuple(hit for hit in hits if _key(hit.source) not in chosen)
    return Context(text, count(text) if text else 0, lines, kept, cut, relevance)


def _key(source: Source) -> Hashable:
    """Return what identifies a line or a unit within its bank."""
    return source.seq if isinstance(source, Line) else (source.unit.kind, source.unit.id)


def _shortened(hit: Hit, wanted: Collection[str], budget: int, count: TokenCounter) -> Hit:
    """The hit, with an excerpt for its line where that would not even fit alone."""
    source = hit.source
    if MAX_HEADING_TOKENS + count(format_line(source)) <= budget or _cost(source, (), count) <= budget:
        return hit

    room = int(MAX_EXCERPT_SHARE * budget) - _cost(_with_text(source, ""), (), count)
    text = choose_excerpt(source.text, wanted, room, count)
    return hit if text is None else replace(hit, source=_with_text(source, text))


def _with_text(source: Source, text: str) -> Source:
    return replace(source, text=text) if isinstance(source, Line) else source.with_text(text)


def _wanted(hits: Sequence[Hit], held: Iterable[Line]) -> Iterable[Source]:
    yield from (hit.source for hit in hits)
    for hit in hits:
        yield from (line for line in hit.passage if _key(line) != _key(hit.source))
    yield from held


def _day(line: Source) -> Day:
    return line.session, line.said_at.date()


def _cost(line: Source, days: Collection[Day], count: TokenCounter) -> int:
    """Tokens the line adds: its own, and the most that can come before it (a heading, or a gap and line ends)."""
    lead = f"\n\n{format_heading(line)}\n" if _day(line) not in days else f"\n{GAP_MARK}\n"
    return count(f"{lead}{format_line(line)}")
