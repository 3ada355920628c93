"""The part of a very long line that bears most on a question. Pure.

Contexts hold whole lines; only a line that would not fit into an empty one, such as a pasted article, is shown in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from everthread.text.analyzer import terms
from everthread.text.formatting import GAP_MARK

MAX_SENTENCE_CHARS = 300  # characters of a sentence; a longer one is cut into such pieces
_SENTENCE = re.compile(
    rf"(?s).{{1,{MAX_SENTENCE_CHARS}}}?(?:(?<=[.!?])(?=\s)|(?<=[。！？\n])|$)|.{{1,{MAX_SENTENCE_CHARS}}}(?=\s)|.{{1,{MAX_SENTENCE_CHARS}}}"
)


def choose_excerpt(text: str, wanted: Collection[str], room: int, cost: Callable[[str], int]) -> str | None:
    """The sentence that holds most of the wanted terms, and as many on either side as there is room for by `cost`; None
    if there is not even room for one.

    GAP stands where something was left out.
    """
    parts = _SENTENCE.findall(text)
    if not parts:
        return None
    best = max(range(len(parts)), key=lambda place: _holds(parts[place], wanted))
    first, last = best, best + 1
    left = room - cost(_joined(parts, first, last))
    if left < 0:
        return None
    grown = True
    while grown:  # one more behind, one more before, each counted once
        grown = False
        for place in (last, first - 1):
            if 0 <= place < len(parts) and (price := cost(parts[place])) <= left:
                left -= price
                first, last, grown = min(first, place), max(last, place + 1), True
    while first < last - 1 and (whole := cost(_joined(parts, first, last))) > room:  # the whole is more than its parts
        drop = max(1, int((last - first) * (1 - room / whole)))
        if best - first > last - 1 - best:
            first = min(first + drop, best)
        else:
            last = max(last - drop, best + 1)
    return _joined(parts, first, last)


def _holds(part: str, wanted: Collection[str]) -> int:
    return len(set(terms(part)).intersection(wanted)) if wanted else 0


def _joined(parts: list[str], first: int, last: int) -> str:
    lead, tail = GAP_MARK + " " if first else "", " " + GAP_MARK if last < len(parts) else ""
    return lead + "".join(parts[first:last]).strip() + tail
