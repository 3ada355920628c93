"""Orders the hits of a context by what their lines state of the fact that a question asks for. Pure.

A line that states what is asked for comes before those that state it of another time or of others. If the question asks
for nothing else, the line answers it, and the others don't: it is added if it is not among the hits, and the relevance
of each is set accordingly. Without such a line, the others are in doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from everthread.facts.answering_lines import AnsweringLines
from everthread.types import Context, Hit, Line

ANSWER_RELEVANCE = 0.9  # of a line by whose fact the question is answered: nine in ten facts of the rules are right
MISLEADING_SHARE = 0.25  # of its relevance, of a line that states the same of another one, or what no longer holds
UNKNOWN_RELEVANCE = 0.25  # at most, if no fact answers a question that one could: a quarter of the lines do

ReadLine = Callable[[int], Line | None]


def order_by_answer(context: Context, lines: AnsweringLines, read_line: ReadLine) -> Context:
    """Return a context with the hits in this order.

    Args:
        context: the context.
        lines: what the lines of its bank state of the attribute that is asked for.
        read_line: reads a line that may be added; None if it can't be.
    """
    hits = [hit for hit in context.hits if hit.kind == "line"]
    answering = next((hit for seq in lines.answering for hit in hits if hit.seq == seq), None)
    if lines.is_complete:
        is_best = answering is not None and answering.seq == lines.answering[0]
        return _answer(context, lines, (answering if is_best else _build_hit(lines, read_line)) or answering)
    first = next((place for place, hit in enumerate(context.hits) if _is_misleading(hit, lines)), len(context.hits))
    if answering is None or context.hits.index(answering) < first:
        return context
    others = [hit for hit in context.hits if hit is not answering]
    moved = replace(answering, relevance=max(answering.relevance, context.hits[first].relevance))
    return replace(context, hits=(*others[:first], moved, *others[first:]))


def _answer(context: Context, lines: AnsweringLines, answer: Hit | None) -> Context:
    """Return a context with the line that answers before all others, if there is one."""
    hits = [_lower(hit, lines) for hit in context.hits if answer is None or hit.source != answer.source]
    hits.sort(key=lambda hit: _is_misleading(hit, lines))
    if answer is None:
        return replace(context, hits=tuple(hits if lines.answering else map(limit_relevance, hits)))
    relevance = max(answer.relevance, ANSWER_RELEVANCE)
    sources = context.sources if answer.source in context.sources else (*context.sources, answer.source)
    return replace(
        context,
        hits=(replace(answer, relevance=relevance), *hits),
        sources=tuple(sorted(sources, key=_get_position)),
        relevance=max(context.relevance, relevance),
    )


def _get_position(source: object) -> int:
    return source.position if isinstance(source, Line) else 0


def _is_misleading(hit: Hit, lines: AnsweringLines) -> bool:
    return hit.kind == "line" and hit.seq in lines.misleading


def _lower(hit: Hit, lines: AnsweringLines) -> Hit:
    return replace(hit, relevance=MISLEADING_SHARE * hit.relevance) if _is_misleading(hit, lines) else hit


def limit_relevance(hit: Hit) -> Hit:
    """Return a hit that is in doubt: with a relevance with which no memory is stated."""
    return replace(hit, relevance=min(hit.relevance, UNKNOWN_RELEVANCE))


def _build_hit(lines: AnsweringLines, read_line: ReadLine) -> Hit | None:
    """Return a hit of the first line that answers; None without one."""
    line = read_line(lines.answering[0]) if lines.answering else None
    return None if line is None else Hit(line, 0.0, ANSWER_RELEVANCE, {}, (line,))
