"""Summaries that went with a line of theirs, queued to be written anew of what is left of their session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from everthread.errors import NotFound
from everthread.stores.base import Store
from everthread.types import Unit, Where, Work, now


def of(store: Store, bank: str) -> list[Unit]:
    """The summaries that stand."""
    return store.units(bank, ("summary",), current=True)


def again(store: Store, bank: str, before: Sequence[Unit]) -> None:
    """Queue those of the summaries before that stand no more, as far as there is anything left to be told."""
    if not before:
        return
    standing = {unit.id for unit in of(store, bank)}
    for session in sorted({str(unit.metadata.get("session")) for unit in before if unit.id not in standing}):
        lines = list(store.lines(bank, Where(session=session)))
        if lines:
            with suppress(NotFound):  # the session went meanwhile
                store.queue(bank, Work("summary", session, lines[0].seq, lines[-1].seq, now()))
