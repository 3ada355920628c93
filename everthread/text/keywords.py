"""Keywords of a text, and how many of them two texts share. Pure.

A plain score beside the vectors (Emi's "keyword overlap"), for what is near in meaning and yet of something else.
Keywords are weighed by TF-IDF (Spärck Jones 1972). They are terms as the stores count them, so that forms of a word
agree; of scripts without spaces they are pairs of neighbouring characters between the commonest ones, which on Chinese
dialogues separated relevant memories from others as well as a dictionary's words (docs/log.md).
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
    """At most `top` terms that tell most of what the text is about, best first; of equals the one that comes first.

    counts says in how many of a bank's lines a term occurs, and lines how many there are. Without it, the words of
    every conversation left out, the most frequent in the text tell most. Raises BadInput for a top below 1.
    """
    return top_terms(term_counts(text), top, counts, lines)


def term_counts(text: str) -> Counter[str]:
    """Count the terms of a text that may be keywords, in their order."""
    return Counter(_candidate_terms(text))


def top_terms(said: Mapping[str, int], top: int, counts: Mapping[str, int] | None = None, lines: int = 0) -> list[str]:
    """Return the `keywords` of a text from its `term_counts`, for callers that use these more than once."""
    if top < 1:
        raise BadInput(f"top must be at least 1, got {top}; it is how many keywords are wanted")
    known = counts or {}
    weight = {term: tf * idf(known.get(term, 0), lines) for term, tf in said.items()}
    return sorted(weight, key=lambda term: -weight[term])[:top]


def count_shared(query: Collection[str], candidate: Collection[str], ignoring: Iterable[str] = ()) -> int:
    """Return how many keywords a query and a candidate share.

    Names to ignore are given as they are written: the bot's own occurs in every second line, whatever it is about.
    """
    names = {term for name in ignoring for term in terms(name)}
    return len(set(query).intersection(candidate) - names)


def _candidate_terms(text: str) -> list[str]:
    """The terms that may be keywords, in order: a text's words, then its pairs of characters."""
    folded = normalize(text)
    parts = [part for run in _RUN.findall(folded) for part in _COMMON.split(run) if part]
    pairs = [part[at : at + 2] for part in parts for at in range(len(part) - 1)]
    return terms(_RUN.sub(" ", folded)) + (pairs or parts)  # a character alone is a word at best: "我的猫呢"
