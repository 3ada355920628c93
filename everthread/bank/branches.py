"""Finds the branch of a session that leads to a discarded line.

Lines that are edited, regenerated or undone are retracted; the others form one path through the tree of messages. To
return to a line of another branch, the lines that led to it are stored again, as copies, and the lines after the point
at which the branches separate are retracted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from everthread.bank.corrections import sort_by_position
from everthread.bank.line_versions import get_recorded
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.errors import BadQuery, NotFound
from everthread.stores.base import LineStore
from everthread.stores.shared_rows import source_key, to_new_line
from everthread.types import Filter, Line, NewLine


@dataclass(frozen=True, slots=True)
class Branch:
    """The changes that make a line the last one of its session.

    Attributes:
        discarded: the current lines after the branching point, in the order of the conversation.
        copies: copies of the retracted lines that lead to the line, each the answer to the one before it.
    """

    discarded: list[Line]
    copies: list[NewLine]


def find_branch(store: LineStore, bank: str, seq: int) -> Branch:
    """Find the branch that leads to a line.

    Args:
        store: the store of the bank.
        bank: its id.
        seq: the number of the line, current or retracted.

    Raises:
        NotFound: the bank has no such line.
        BadQuery: a line that led to it was forgotten.
    """
    line = get_recorded(store, bank, seq)
    if line is None:
        raise NotFound(f"bank {bank!r} has no line {seq} to restore")
    where = Filter(session=line.session)
    record = {stored.seq: stored for stored in store.lines(bank, where, include_retracted=True, include_wordless=True)}
    current = sort_by_position([stored for stored in record.values() if stored.retracted_at is None])
    positions = {_find_original(stored, record): position for position, stored in enumerate(current)}
    position = positions.get(_find_original(line, record))
    if position is not None and current[position].text == line.text:
        return Branch(current[position + 1 :], [])
    retracted, position = _trace_back(line, record, current, positions)
    discarded = current[position:]
    parent = current[position - 1].seq if position else None
    return Branch(discarded, _build_copies(store, bank, retracted, parent, discarded))


def _trace_back(
    line: Line, record: Mapping[int, Line], current: Sequence[Line], positions: Mapping[int, int]
) -> tuple[list[Line], int]:
    """Return the retracted lines that lead to a line, itself included, and the position at which they branch off.

    Args:
        line: the retracted line.
        record: all lines of its session, by number.
        current: its current lines, in the order of the conversation.
        positions: the positions of the current lines, by the number of the line that they correct or repeat.

    Raises:
        BadQuery: a line that led to it was forgotten.
    """
    roots = [seq for seq, stored in record.items() if stored.retracted_at is None or stored.parent is None]  # ascending
    first = _find_original(current[0], record, (META_CORRECTS,)) if current else None
    lines = [line]
    while (parent := _find_parent(lines[-1], roots, first)) is not None:
        if parent not in record:
            raise BadQuery(f"line {line.seq} can't be restored: line {parent}, which led to it, is forgotten")
        if (position := positions.get(_find_original(record[parent], record))) is not None:
            return lines[::-1], position + 1
        lines.append(record[parent])
    return lines[::-1], 0


def _find_parent(line: Line, roots: Sequence[int], first: int | None) -> int | None:
    """Return the number of the line before a retracted one.

    Imported lines often have no parent; each follows the one before. A first line of the session has none either, but
    then the first current line was stored after it, because a copy has a number of its own.
    """
    if line.parent is not None or first is None or first >= line.seq:
        return line.parent
    index = bisect_left(roots, line.seq)
    return roots[index - 1] if index else None


def _find_original(line: Line, record: Mapping[int, Line], links: Sequence[str] = (META_CORRECTS, META_REPEATS)) -> int:
    """Return the number of the line that a line corrects or repeats in its session, or else its own.

    Metadata of an imported line may contain numbers of another bank; therefore both must have the same speaker and
    time, and a copy the same text.
    """
    while (earlier := next(filter(None, (_find_linked(line, record, name) for name in links)), None)) is not None:
        line = earlier
    return line.seq


def _find_linked(line: Line, record: Mapping[int, Line], name: str) -> Line | None:
    """Return the earlier line that a line corrects or repeats, as its metadata say under this name, if it exists."""
    number = line.metadata.get(name)
    earlier = record.get(number) if type(number) is int and number < line.seq else None
    if earlier is None or (earlier.speaker, earlier.said_at) != (line.speaker, line.said_at):
        return None
    return earlier if name == META_CORRECTS or earlier.text == line.text else None


def _build_copies(
    store: LineStore, bank: str, lines: Sequence[Line], parent: int | None, discarded: Sequence[Line]
) -> list[NewLine]:
    """Build copies of retracted lines, the first of which answers `parent`. A key that another current line has by now
    stays with that line."""
    keys = {line.seq: key for line in lines if (key := source_key(line)) is not None}
    freed = {line.seq for line in discarded}
    used_keys = {
        key
        for key, other in store.get_by_key(bank, list(keys.values())).items()
        if other.retracted_at is None and other.seq not in freed
    }
    return [
        replace(
            to_new_line(line),
            metadata={**line.metadata, META_REPEATS: line.seq},
            parent=parent,
            key=None if (key := keys.get(line.seq)) in used_keys else key,
        )
        for line in lines
    ]
