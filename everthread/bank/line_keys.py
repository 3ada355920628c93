"""Resolves keys, which identify lines at their source. A bank has at most one line per key.

A retracted line keeps its key until another line with the key is stored, so that a repeated import recognises its lines
even if they were retracted or corrected since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from everthread.bank.line_versions import find_versions, get_recorded
from everthread.common.keys import META_KEY_FROM
from everthread.stores.base import LineStore
from everthread.stores.shared_rows import releases_key
from everthread.types import Line, NewLine, now


def split_known(
    store: LineStore, bank: str, lines: Sequence[NewLine], replaces: Collection[int]
) -> tuple[list[Line | None], list[NewLine]]:
    """Separate new lines from lines whose keys are stored already.

    Args:
        store: the store of the bank.
        bank: its id.
        lines: the lines.
        replaces: numbers of lines that will be retracted first.

    Returns:
        For each line the stored line with its key, or None; and the lines to write. A line that takes the key of
        another line records the number of that line in its metadata.
    """
    holders = store.get_by_key(bank, [line.key for line in lines if line.key])
    known: list[Line | None] = []
    new: list[NewLine] = []
    for line in lines:
        holder = holders.get(line.key) if line.key else None
        stored = None if holder is None else _resolve(store, bank, holder, line, replaces)
        known.append(stored)
        if stored is None:
            previous = {} if holder is None else {META_KEY_FROM: holder.seq}
            new.append(replace(line, metadata={**line.metadata, **previous}))
    return known, new


def _resolve(store: LineStore, bank: str, holder: Line, new: NewLine, replaces: Collection[int]) -> Line | None:
    """Return the stored line for a new line with the holder's key; None if the new line may take the key.

    A line that version 0.1.0 corrected still has its key; its correction is returned.
    """
    if holder.seq in replaces and holder.retracted_at is None:
        return None if releases_key(replace(holder, retracted_at=now()), new) else holder
    if not releases_key(holder, new):
        return holder
    versions = store.get(bank, find_versions(store, bank, holder.seq))
    return next((line for line in reversed(versions) if line.seq not in replaces), None)


def key_history(store: LineStore, bank: str, line: Line) -> Iterator[Line]:
    """Iterate over a line and the previous holders of its key, newest first."""
    holder: Line | None = line
    while holder is not None:
        yield holder
        previous = holder.metadata.get(META_KEY_FROM)
        holder = get_recorded(store, bank, previous) if type(previous) is int and 0 < previous < holder.seq else None
