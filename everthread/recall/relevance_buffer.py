"""The relevance buffer of a session: recently recalled passages, which stay in its contexts for a while. Pure.

The passages of the best hits enter the buffer. Later contexts of the session include them, if there is room, even if
the newest query doesn't find them: the conversation may return to them. The oldest passage leaves first, as in
uncany-membot (ten blocks), but without duplicates: a passage that is recalled again moves to the end, merged with those
that it overlaps. The store saves the buffer by session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from everthread.recall.passages import SeqRange

MAX_PASSAGES = 10  # as in membot
MAX_PASSAGE_LINES = 24  # passages that would be longer after merging are not merged but cut where they overlap


def push_ranges(buffer: Sequence[SeqRange], new: Iterable[SeqRange], capacity: int = MAX_PASSAGES) -> list[SeqRange]:
    """Add passages at the end of a buffer.

    Args:
        buffer: the passages, oldest first.
        new: the passages to add.
        capacity: the maximum number of passages; the oldest ones are dropped.

    Returns:
        The new buffer, oldest first.
    """
    passages = list(buffer)
    if capacity < 1:
        return []
    for first, last in new:
        overlapping = [passage for passage in passages if passage[0] <= last and first <= passage[1]]
        merged = (
            min([first, *(passage[0] for passage in overlapping)]),
            max([last, *(passage[1] for passage in overlapping)]),
        )
        if merged[1] - merged[0] < MAX_PASSAGE_LINES:
            passages = [*(passage for passage in passages if passage not in overlapping), merged]
        else:
            passages = [part for passage in passages for part in _parts_outside(passage, first, last)] + [(first, last)]
        passages = passages[-capacity:]
    return passages


def _parts_outside(passage: SeqRange, first: int, last: int) -> list[SeqRange]:
    """Return the parts of a passage before `first` and after `last`."""
    parts = ((passage[0], min(passage[1], first - 1)), (max(passage[0], last + 1), passage[1]))
    return [part for part in parts if part[0] <= part[1]]
