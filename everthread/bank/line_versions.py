"""Lines said again: whoever goes back to a discarded branch says its lines once more, under new numbers; whoever
corrects a line, says it anew."""

from __future__ import annotations

from everthread.bank.line_validation import keepable
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.stores.base import Store
from everthread.types import Filter, Line


def copies(store: Store, bank: str, seq: int) -> list[int]:
    """The numbers under which a line stands in the record, ascending: its own, those of the lines that it repeats or
    that repeat it, and of those that it corrects or that correct it. Lines of another record may name what is none
    here: a copy has the same text, and a correction the same speaker and time."""
    line = recorded(store, bank, seq)
    if line is None:
        return [seq]
    found = {line.seq: line}
    waiting = [line]
    while waiting:
        here = waiting.pop()
        for other in (*_linked(store, bank, here, META_REPEATS), *_linked(store, bank, here, META_CORRECTS)):
            if other.seq not in found and _same(here, other):
                found[other.seq] = other
                waiting.append(other)
    return sorted(found)


def corrected(store: Store, bank: str, seq: int, text: str) -> Line | None:
    """The current line in the place of a retracted one, if it says this."""
    old = recorded(store, bank, seq)
    if old is None or old.retracted_at is None:
        return None
    stand = store.get(bank, copies(store, bank, seq))
    return next((line for line in stand if META_CORRECTS in line.metadata and line.text == keepable(text)[0]), None)


def _linked(store: Store, bank: str, line: Line, name: str) -> list[Line]:
    """The line that its metadata names so, and those whose metadata name it."""
    first = line.metadata.get(name)
    before = recorded(store, bank, first) if isinstance(first, int) and 0 < first < line.seq else None
    after = store.lines(bank, Filter(session=line.session, metadata={name: line.seq}), include_retracted=True)
    return [*([before] if before else []), *after]


def _same(line: Line, other: Line) -> bool:
    """Whether one is the other said again, or corrected."""
    if META_CORRECTS not in line.metadata and META_CORRECTS not in other.metadata:
        return line.text == other.text
    return (line.session, line.speaker, line.said_at) == (other.session, other.speaker, other.said_at)


def recorded(store: Store, bank: str, seq: int) -> Line | None:
    """The line of this number, retracted or not."""
    found = next(iter(store.lines(bank, after=seq - 1, limit=1, include_retracted=True)), None)
    return found if found is not None and found.seq == seq else None
