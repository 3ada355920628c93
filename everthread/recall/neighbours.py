"""Neighbours of a hit: the lines before and after it in its session. Pure arithmetic on positions.

The position of a line is its number; that of a correction, the number of the line that it corrects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from everthread.recall.types import ScoredLine
from everthread.types import Hit, Line

Span = tuple[int, int]  # first and last seq, both inclusive


def build_hits(
    ranked: Iterable[ScoredLine], width: int, shown: Callable[[Sequence[int]], list[Line]], exclude: Collection[int]
) -> list[Hit]:
    """Build the hits of chosen lines, each among its neighbours.

    Args:
        ranked: the chosen lines, best first.
        width: neighbours on either side.
        shown: reads those lines of these numbers that may be shown.
        exclude: numbers of lines that are no neighbours.
    """
    found = {each.seq: each for each in ranked}
    near = neighbour_seqs(found, width, exclude)
    lines = shown(near)
    if moved := [at for line in lines if line.seq in found and (at := line.position) != line.seq]:
        lines += shown(neighbour_seqs(moved, width, {*exclude, *near}))  # of corrected lines, in their old places
    around = map_by_position(lines)
    places = {line.seq: at for at, line in around.items()}
    return [
        Hit(around[stands], score, relevance, signals, build_passage(around[stands], stands, around, width))
        for seq, score, relevance, signals in found.values()
        if (stands := places.get(seq)) is not None  # it may have been forgotten meanwhile
    ]


def neighbour_seqs(seqs: Iterable[int], width: int, exclude: Collection[int] = frozenset()) -> list[int]:
    """Return the numbers within `width` of one of these, ascending, without those in `exclude`.

    Lines of these numbers may not exist, or be of another session.
    """
    return sorted({near for seq in seqs for near in range(max(1, seq - width), seq + width + 1)}.difference(exclude))


def map_by_position(lines: Iterable[Line]) -> dict[int, Line]:
    """Map lines by their positions.

    A correction in a bank where another line has its position is mapped by its own number.
    """
    every = {line.seq: line for line in lines}
    found: dict[int, Line] = {}
    for line in every.values():
        at = line.position
        found[line.seq if at in every or at in found else at] = line
    return found


def build_passage(line: Line, at: int, around: Mapping[int, Line], width: int) -> tuple[Line, ...]:
    """Return a line among its neighbours of the same session, in order.

    Args:
        line: the line.
        at: its position.
        around: lines by their positions; those that are forgotten or retracted are missing.
        width: neighbours on either side.
    """
    near = (around.get(each) for each in range(at - width, at + width + 1))
    return tuple(found for found in near if found is not None and found.session == line.session)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that overlap or touch; ascending."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def list_spans(lines: Sequence[Line]) -> list[Span]:
    """Return the span from the first line to the last, and one for each correction, which is far from its position."""
    own = [line.seq for line in lines if line.position == line.seq]
    moved = [(line.seq, line.seq) for line in lines if line.position != line.seq]
    return [(own[0], own[-1]), *moved] if own else moved
