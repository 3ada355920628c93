"""Chooses the part of a very long line that is most relevant to a query. Pure.

Contexts contain whole lines. An excerpt is shown only for a line that would not fit into an empty context, such as a
pasted article.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from everthread.text.analyzer import analyze
from everthread.text.formatting import GAP_MARK

MAX_SENTENCE_CHARS = 300  # longer sentences are split
_SENTENCE = re.compile(
    rf"(?s).{{1,{MAX_SENTENCE_CHARS}}}?(?:(?<=[.!?])(?=\s)|(?<=[。！？\n])|$)"
    rf"|.{{1,{MAX_SENTENCE_CHARS}}}(?=\s)|.{{1,{MAX_SENTENCE_CHARS}}}"
)


def choose_excerpt(text: str, query_terms: Collection[str], budget: int, count: Callable[[str], int]) -> str | None:
    """Choose the sentence with the most terms of a query, and as many sentences around it as the budget allows.

    Args:
        text: the text.
        query_terms: the terms of the query.
        budget: tokens of the excerpt at most.
        count: counts the tokens of a text.

    Returns:
        The excerpt, with GAP_MARK in place of omitted text; None if not even one sentence fits.
    """
    sentences = _SENTENCE.findall(text)
    if not sentences:
        return None
    best = max(range(len(sentences)), key=lambda at: _count_shared_terms(sentences[at], query_terms))
    first, end = best, best + 1
    remaining = budget - count(_join(sentences, first, end))
    if remaining < 0:
        return None
    grown = True
    while grown:  # add the sentence after and the one before; each is counted once
        grown = False
        for at in (end, first - 1):
            if 0 <= at < len(sentences) and (cost := count(sentences[at])) <= remaining:
                remaining -= cost
                first, end, grown = min(first, at), max(end, at + 1), True
    # Joined sentences may have more tokens than the sum of their counts.
    while first < end - 1 and (tokens := count(_join(sentences, first, end))) > budget:
        surplus = max(1, int((end - first) * (1 - budget / tokens)))
        if best - first > end - 1 - best:
            first = min(first + surplus, best)
        else:
            end = max(end - surplus, best + 1)
    return _join(sentences, first, end)


def _count_shared_terms(sentence: str, query_terms: Collection[str]) -> int:
    return len(set(analyze(sentence)[0]).intersection(query_terms)) if query_terms else 0


def _join(sentences: Sequence[str], first: int, end: int) -> str:
    lead, tail = GAP_MARK + " " if first else "", " " + GAP_MARK if end < len(sentences) else ""
    return lead + "".join(sentences[first:end]).strip() + tail
