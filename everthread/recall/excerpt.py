"""The part of a very long line that bears most on a question. Pure.

Contexts hold whole lines; only a line that would not fit into an empty one, such as a pasted article, is shown in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from everthread.prompt.layout import GAP
from everthread.stores.text import terms

LONGEST = 300  # characters of a sentence; a longer one is cut into such pieces
_SENTENCE = re.compile(
    rf"(?s).{{1,{LONGEST}}}?(?:(?<=[.!?])(?=\s)|(?<=[。！？\n])|$)|.{{1,{LONGEST}}}(?=\s)|.{{1,{LONGEST}}}"
)


def excerpt(text: str, wanted: Collection[str], fits: Callable[[str], bool]) -> str | None:
    """The sentence that holds most of the wanted terms, and as many on either side as fit; None if not even one does.

    GAP stands where something was left out.
    """
    parts = _SENTENCE.findall(text)
    if not parts:
        return None
    best = max(range(len(parts)), key=lambda place: len(set(terms(parts[place])).intersection(wanted)))
    first, last = best, best + 1
    if not fits(_joined(parts, first, last)):
        return None
    while True:
        after = last < len(parts) and fits(_joined(parts, first, last + 1))
        last += after
        before = first > 0 and fits(_joined(parts, first - 1, last))
        first -= before
        if not (after or before):
            return _joined(parts, first, last)


def _joined(parts: list[str], first: int, last: int) -> str:
    lead, tail = GAP + " " if first else "", " " + GAP if last < len(parts) else ""
    return lead + "".join(parts[first:last]).strip() + tail
