"""The relevance buffer: passages that were recalled lately stay in view for a while. Pure.

First in, first out, as in uncany-membot (ten blocks), but without duplicates: a passage that is recalled again moves to
the end, merged with those that it overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from everthread.recall.neighbours import Span

MAX_PASSAGES = 10  # passages: membot's number
MAX_PASSAGE_LINES = 24  # lines of a passage; one that would outgrow this by overlapping is cut where the new one begins


def push_spans(buffer: Sequence[Span], new: Iterable[Span], capacity: int = MAX_PASSAGES) -> list[Span]:
    """Return the buffer with new spans at its end, oldest first, without the oldest beyond the capacity."""
    held = list(buffer)
    if capacity < 1:
        return []
    for first, last in new:
        over = [span for span in held if span[0] <= last and first <= span[1]]
        whole = (min([first, *(span[0] for span in over)]), max([last, *(span[1] for span in over)]))
        if whole[1] - whole[0] < MAX_PASSAGE_LINES:
            held = [*(span for span in held if span not in over), whole]
        else:
            held = [part for span in held for part in _parts_outside(span, first, last)] + [(first, last)]
        held = held[-capacity:]
    return held


def _parts_outside(span: Span, first: int, last: int) -> list[Span]:
    """Return the parts of a span before `first` and after `last`."""
    parts = ((span[0], min(span[1], first - 1)), (max(span[0], last + 1), span[1]))
    return [part for part in parts if part[0] <= part[1]]
