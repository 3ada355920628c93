"""A hit grows by its neighbours: the lines before and after it in its session. Pure arithmetic on seq."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from everthread.types import Line

Span = tuple[int, int]  # first and last seq, both inclusive


def neighbours(seqs: Iterable[int], width: int, without: Collection[int] = frozenset()) -> list[int]:
    """Every seq within `width` of one of these, ascending, but for those `without`; some may not exist or belong to
    another session."""
    return sorted({near for seq in seqs for near in range(max(1, seq - width), seq + width + 1)}.difference(without))


def passage(line: Line, around: Mapping[int, Line], width: int) -> tuple[Line, ...]:
    """The line among its neighbours of the same session, in order. Lines missing from `around` (forgotten, retracted)
    are left out."""
    near = (around.get(seq) for seq in range(line.seq - width, line.seq + width + 1))
    return tuple(found for found in near if found is not None and found.session == line.session)


def merge(spans: Iterable[Span]) -> list[Span]:
    """Spans that overlap or touch become one; ascending."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def span(lines: Sequence[Line]) -> Span:
    """From the first line's seq to the last's."""
    return lines[0].seq, lines[-1].seq
