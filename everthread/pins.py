"""Pinned lines: what a person wants a bot to bear in mind always. They stand in every prompt of the bank, in the part
that stays the same. The bank's setting `pinned` holds their numbers and no word of them; one that is retracted or
forgotten is pinned no more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from everthread.errors import BadInput, NotFound
from everthread.prompt.passages import layout
from everthread.prompt.tokens import Counter, estimate
from everthread.stores.base import Store
from everthread.types import JSONValue, Line

if TYPE_CHECKING:
    from everthread.memory import Memory

SETTING = "pinned"  # the name of a bank's setting
MOST = 20  # lines
ROOM = 200  # tokens of them in a prompt: a dozen short lines, a fortieth of the usual context
SHORTEST = 12  # characters of a line that is cut to fit: less tells nothing

_changing = threading.Lock()  # held while the setting is read and written


def listed(memory: Memory, settings: Mapping[str, JSONValue] | None = None) -> list[Line]:
    """The pinned lines that stand, in the order of the conversation; settings are the bank's, where they are known."""
    return _standing(memory.store, memory.bank, settings)


def add(memory: Memory, seq: int) -> list[Line]:
    """Pin a line; the lines that are pinned now. NotFound where it doesn't stand, BadInput where MOST are pinned."""
    if not memory.store.get(memory.bank, [seq]):
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r} that could be pinned")
    with _changing:
        lines = listed(memory)
        seqs = [line.seq for line in lines]
        if seq in seqs:
            return lines
        if len(seqs) >= MOST:
            raise BadInput(f"{MOST} lines are pinned already, the most that may be; take one of them off first")
        memory.set_setting(SETTING, sorted([*seqs, seq]))
    return listed(memory)


def remove(memory: Memory, seq: int) -> list[Line]:
    """Take a line off, if it is pinned; the lines that are pinned now."""
    with _changing:
        lines = [line for line in listed(memory) if line.seq != seq]
        _keep(memory.store, memory.bank, lines)
    return lines


def moved(store: Store, bank: str, old: int, new: int) -> None:
    """Have a line that stands in the place of another be pinned, if that one was."""
    with _changing:
        kept = store.settings(bank).get(SETTING)
        if isinstance(kept, list) and old in kept:
            seqs = {seq for seq in kept if isinstance(seq, int)}
            store.set_setting(bank, SETTING, sorted(seqs - {old} | {new}))


def tidy(store: Store, bank: str) -> None:
    """Leave nothing in the setting of lines that are gone."""
    with _changing:
        _keep(store, bank, _standing(store, bank))


def told(lines: Sequence[Line], count: Counter = estimate) -> str:
    """The lines as text for a prompt, dated and named as passages are, in ROOM tokens: the newest, where not all have
    room. One that is longer alone is cut."""
    for first in range(len(lines)):
        if count(text := layout(lines[first:])) <= ROOM:
            return text
    return _cut(layout(lines[-1:]), count) if lines else ""


def _cut(text: str, count: Counter) -> str:
    while count(text) > ROOM and len(text) > SHORTEST:
        text = text[: len(text) * 3 // 4].rstrip() + "…"
    return text


def _standing(store: Store, bank: str, settings: Mapping[str, JSONValue] | None = None) -> list[Line]:
    kept = (store.settings(bank) if settings is None else settings).get(SETTING)
    seqs = [seq for seq in kept if isinstance(seq, int)] if isinstance(kept, list) else []
    return store.get(bank, seqs) if seqs else []


def _keep(store: Store, bank: str, lines: Sequence[Line]) -> None:
    seqs = [line.seq for line in lines]
    if seqs != store.settings(bank).get(SETTING, []):
        store.set_setting(bank, SETTING, seqs or None)
