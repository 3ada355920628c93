"""Extracts the keywords of a text, and counts those that two texts share. Pure.

The number of shared keywords (Emi's "keyword overlap") complements vectors: texts may be similar in meaning but about
another subject. Keywords are weighted by TF-IDF (Spärck Jones 1972). They are terms as the stores count them, so that
forms of a word agree; in scripts without spaces they are pairs of characters without stop characters, which on Chinese
dialogues separated relevant memories from others as well as the words of a dictionary (docs/log.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from everthread.errors import BadInput
from everthread.text.analyzer import STOP_CHARACTERS, UNSPACED, normalize, terms
from everthread.text.bm25 import idf

_RUN = re.compile(f"[{UNSPACED}]+")
_COMMON = re.compile(f"[{''.join(sorted(STOP_CHARACTERS))}]")


def keywords(text: str, top: int, counts: Mapping[str, int] | None = None, lines: int = 0) -> list[str]:
    """Return the most characteristic terms of a text, best first; terms of equal weight in their order.

    Args:
        text: the text.
        top: the maximum number of terms.
        counts: the number of a bank's lines in which each term occurs. Default: only the frequency in the text counts.
        lines: the number of the bank's lines.

    Raises:
        BadInput: `top` is below 1.
    """
    return top_terms(term_counts(text), top, counts, lines)


def term_counts(text: str) -> Counter[str]:
    """Count the terms of a text that may be keywords, in their order."""
    return Counter(_candidate_terms(text))


def top_terms(
    frequencies: Mapping[str, int], top: int, counts: Mapping[str, int] | None = None, lines: int = 0
) -> list[str]:
    """Return the keywords of a text from its `term_counts`, for callers that reuse the counts."""
    if top < 1:
        raise BadInput(f"top must be at least 1 keyword, got {top}")
    df = counts or {}
    weight = {term: tf * idf(df.get(term, 0), lines) for term, tf in frequencies.items()}
    return sorted(weight, key=lambda term: -weight[term])[:top]


def count_shared(query: Collection[str], candidate: Collection[str], ignored_names: Iterable[str] = ()) -> int:
    """Return how many keywords a query and a candidate share.

    Args:
        query: the keywords of the query.
        candidate: the keywords of the candidate.
        ignored_names: names that don't count, such as the bot's, which occurs in lines about any subject.
    """
    names = {term for name in ignored_names for term in terms(name)}
    return len(set(query).intersection(candidate) - names)


def _candidate_terms(text: str) -> list[str]:
    """Return the terms that may be keywords, in order: a text's words, then its pairs of characters."""
    folded = normalize(text)
    parts = [part for run in _RUN.findall(folded) for part in _COMMON.split(run) if part]
    pairs = [part[at : at + 2] for part in parts for at in range(len(part) - 1)]
    return terms(_RUN.sub(" ", folded)) + (pairs or parts)  # single characters only without a pair: "我的猫呢"
