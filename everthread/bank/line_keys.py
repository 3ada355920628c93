"""Keys: the names that lines have at their source. Under each key a bank has one line at a time.

A retracted line keeps its key until another line of the same key is put, so that an import which is repeated finds what
it brought, also where that was retracted or corrected since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from everthread.bank.line_versions import copies, recorded
from everthread.common.keys import META_KEY_FROM
from everthread.stores.base import Store
from everthread.stores.shared_rows import releases_key
from everthread.types import Line, NewLine, now


def sort_out(
    store: Store, bank: str, lines: Sequence[NewLine], instead: Collection[int]
) -> tuple[list[Line | None], list[NewLine]]:
    """For each of the lines the one that the bank has under its key, or None; and those that are to be written. One
    that takes a key over notes from where. `instead` are lines that are to be retracted first."""
    held = store.get_by_key(bank, [line.key for line in lines if line.key])
    found: list[Line | None] = []
    fresh: list[NewLine] = []
    for line in lines:
        holder = held.get(line.key) if line.key else None
        there = None if holder is None else _answer(store, bank, holder, line, instead)
        found.append(there)
        if there is None:
            taken = {} if holder is None else {META_KEY_FROM: holder.seq}
            fresh.append(replace(line, metadata={**line.metadata, **taken}))
    return found, fresh


def _answer(store: Store, bank: str, holder: Line, new: NewLine, instead: Collection[int]) -> Line | None:
    """The line that is there for one that is offered under the holder's key; None where the key is to be had. Version
    0.1.0 left the key with the line that was corrected."""
    if holder.seq in instead and holder.retracted_at is None:
        return None if releases_key(replace(holder, retracted_at=now()), new) else holder
    if not releases_key(holder, new):
        return holder
    stand = store.get(bank, copies(store, bank, holder.seq))
    return next((line for line in reversed(stand) if line.seq not in instead), None)


def versions(store: Store, bank: str, line: Line) -> Iterator[Line]:
    """The line, and those that had its key before, the newest first."""
    found: Line | None = line
    while found is not None:
        yield found
        before = found.metadata.get(META_KEY_FROM)
        found = recorded(store, bank, before) if type(before) is int and 0 < before < found.seq else None
