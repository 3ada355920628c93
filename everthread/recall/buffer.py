"""The relevance buffer: passages that were recalled lately stay in view for a while. Pure.

First in, first out, as uncany-membot had it (ten blocks), but no passage stands in it twice: one recalled again moves
to the end, taking in whatever it overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from everthread.recall.expand import Span

CAPACITY = 10  # passages: membot's number
LONGEST = 24  # lines of a passage; one that would outgrow this by overlapping starts anew


def push(buffer: Sequence[Span], new: Iterable[Span], capacity: int = CAPACITY) -> list[Span]:
    """The buffer with the new spans at its end, oldest first, the oldest dropped beyond the capacity."""
    held = list(buffer)
    for first, last in new:
        over = [span for span in held if span[0] <= last and first <= span[1]]
        held = [span for span in held if span not in over]
        whole = (min([first, *(span[0] for span in over)]), max([last, *(span[1] for span in over)]))
        held.append(whole if whole[1] - whole[0] < LONGEST else (first, last))
    return held[-capacity:] if capacity > 0 else []
