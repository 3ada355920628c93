"""Builds passages: a hit with the lines before and after it in its session. Pure: arithmetic on positions.

The position of a line is its number; that of a correction, the number of the line that it corrects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from everthread.recall.types import ScoredLine
from everthread.types import Hit, Line

SeqRange = tuple[int, int]  # first and last seq, both inclusive


def build_hits(
    ranked: Iterable[ScoredLine],
    width: int,
    read_lines: Callable[[Sequence[int]], list[Line]],
    exclude: Collection[int],
) -> list[Hit]:
    """Build the hits of chosen lines, each with its neighbours.

    Args:
        ranked: the chosen lines, best first.
        width: neighbours on either side.
        read_lines: reads the lines of these numbers that may be shown.
        exclude: numbers of lines that are not shown as neighbours.
    """
    chosen = {scored.seq: scored for scored in ranked}
    seqs = neighbour_seqs(chosen, width, exclude)
    lines = read_lines(seqs)
    if moved := [line.position for line in lines if line.seq in chosen and line.position != line.seq]:
        lines += read_lines(neighbour_seqs(moved, width, {*exclude, *seqs}))  # around the lines that they correct
    by_position = map_by_position(lines)
    positions = {line.seq: position for position, line in by_position.items()}
    return [
        Hit(by_position[place], score, relevance, signals, build_passage(by_position[place], place, by_position, width))
        for seq, score, relevance, signals in chosen.values()
        if (place := positions.get(seq)) is not None  # None: the line has been forgotten since
    ]


def neighbour_seqs(seqs: Iterable[int], width: int, exclude: Collection[int] = frozenset()) -> list[int]:
    """Return the numbers within `width` of a given number, ascending, without those in `exclude`.

    Lines of these numbers may not exist, or be of another session.
    """
    return sorted(
        {neighbour for seq in seqs for neighbour in range(max(1, seq - width), seq + width + 1)}.difference(exclude)
    )


def map_by_position(lines: Iterable[Line]) -> dict[int, Line]:
    """Map lines by their positions.

    A correction in a bank where another line has its position is mapped by its own number.
    """
    by_seq = {line.seq: line for line in lines}
    by_position: dict[int, Line] = {}
    for line in by_seq.values():
        is_taken = line.position in by_seq or line.position in by_position
        by_position[line.seq if is_taken else line.position] = line
    return by_position


def build_passage(line: Line, position: int, by_position: Mapping[int, Line], width: int) -> tuple[Line, ...]:
    """Return a line among its neighbours of the same session, in order.

    Args:
        line: the line.
        position: the position of the line.
        by_position: lines by their positions; forgotten and retracted ones are missing.
        width: neighbours on either side.
    """
    passage = (by_position.get(index) for index in range(position - width, position + width + 1))
    return tuple(neighbour for neighbour in passage if neighbour is not None and neighbour.session == line.session)


def merge_ranges(ranges: Iterable[SeqRange]) -> list[SeqRange]:
    """Merge ranges that overlap or adjoin; ascending."""
    merged: list[SeqRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def list_ranges(lines: Sequence[Line]) -> list[SeqRange]:
    """Return the range from the first line to the last, and one for each correction, which is far from its position."""
    originals = [line.seq for line in lines if line.position == line.seq]
    corrections = [(line.seq, line.seq) for line in lines if line.position != line.seq]
    return [(originals[0], originals[-1]), *corrections] if originals else corrections
