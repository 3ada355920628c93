"""Choosing the lines that fit into a budget of tokens. Pure.

The order of choice: the hits themselves, best first; then the neighbours of the hits, best hit first; then what the
relevance buffer still holds, newest first. Only whole lines are taken. A line too long for the room that is left is
passed over, and shorter ones behind it still come in. The result is laid out in the order in which lines were said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from everthread.prompt.layout import GAP, heading, layout, sentence
from everthread.prompt.tokens import Counter
from everthread.types import Context, Hit, Line


def fit(hits: Sequence[Hit], held: Iterable[Line], budget: int, count: Counter, relevance: float) -> Context:
    """The context of these hits (best first) and the lines of the buffer, at most `budget` tokens by `count`."""
    chosen: dict[int, Line] = {}
    spent = 0
    days: set[tuple[str, str]] = set()
    for line in _wanted(hits, held):
        if line.seq in chosen:
            continue
        cost = _cost(line, days, count)
        if spent + cost <= budget:
            spent += cost
            chosen[line.seq] = line
            days.add(_day(line))
    text = layout(list(chosen.values()))
    while chosen and count(text) > budget:  # headings repeat where conversations were said at the same time
        chosen.popitem()
        text = layout(list(chosen.values()))
    lines = tuple(sorted(chosen.values(), key=lambda line: (line.said_at, line.seq)))
    kept = tuple(hit for hit in hits if hit.line.seq in chosen)
    cut = tuple(hit for hit in hits if hit.line.seq not in chosen)
    return Context(text, count(text) if text else 0, lines, kept, cut, relevance)


def _wanted(hits: Sequence[Hit], held: Iterable[Line]) -> Iterable[Line]:
    yield from (hit.line for hit in hits)
    for hit in hits:
        yield from (line for line in hit.passage if line.seq != hit.line.seq)
    yield from held


def _day(line: Line) -> tuple[str, str]:
    return line.session, heading(line).rpartition(",")[0]


def _cost(line: Line, days: set[tuple[str, str]], count: Counter) -> int:
    """Tokens the line adds: its own, and the most that can come before it (a heading, or a gap and line ends)."""
    lead = f"\n\n{heading(line)}\n" if _day(line) not in days else f"\n{GAP}\n"
    return count(f"{lead}{sentence(line)}")
