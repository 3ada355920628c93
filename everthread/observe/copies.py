"""Lines said again: whoever goes back to a discarded branch says its lines once more, under new numbers."""

from __future__ import annotations

from everthread.stores.base import Store
from everthread.types import Line, Where

AGAIN = "everthread.again"  # in a line's metadata: the number of the discarded line that it repeats


def copies(store: Store, bank: str, seq: int) -> list[int]:
    """The numbers under which a line stands in the record, ascending: its own, and those of the lines that it repeats
    or that repeat it. Lines of another record may name what is none here: a copy has the same text."""
    line = _line(store, bank, seq)
    if line is None:
        return [seq]
    found = {line.seq: line}
    waiting = [line]
    while waiting:
        here = waiting.pop()
        again = here.metadata.get(AGAIN)
        before = _line(store, bank, again) if isinstance(again, int) and 0 < again < here.seq else None
        after = store.lines(bank, Where(session=here.session, metadata={AGAIN: here.seq}), retracted=True)
        for other in (*([before] if before else []), *after):
            if other.seq not in found and other.text == line.text:
                found[other.seq] = other
                waiting.append(other)
    return sorted(found)


def _line(store: Store, bank: str, seq: int) -> Line | None:
    found = next(iter(store.lines(bank, after=seq - 1, limit=1, retracted=True)), None)
    return found if found is not None and found.seq == seq else None
