"""Pins lines. They are included in every prompt of the bank, in the part that the model server can cache.

The bank's setting `pinned` holds their numbers. A line that is retracted or forgotten is no longer pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from everthread.common.keys import SETTING_PINNED
from everthread.errors import BadInput, NotFound
from everthread.stores.pin_setting import pinned_seqs, remove_pins
from everthread.text.formatting import format_lines
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import JSONValue, Line

if TYPE_CHECKING:
    from everthread.memory import Memory

MAX_PINS = 20  # lines of a bank
PINS_BUDGET_TOKENS = 200  # in a prompt: a dozen short lines, a fortieth of the usual context
MIN_CUT_CHARS = 12  # of a line that is cut to fit; fewer would be meaningless


def list_pins(memory: Memory, settings: Mapping[str, JSONValue] | None = None) -> list[Line]:
    """Return the pinned lines, in order. `settings`: the bank's settings, if they were read already."""
    stored = memory.store.settings(memory.bank) if settings is None else settings
    seqs = pinned_seqs(stored.get(SETTING_PINNED))
    return memory.store.get(memory.bank, seqs) if seqs else []


def add(memory: Memory, seq: int) -> list[Line]:
    """Pin a line, and return the pinned lines.

    Raises:
        NotFound: the bank has no such line, or it is retracted.
        BadInput: MAX_PINS lines are pinned already.
    """
    if not memory.store.get(memory.bank, [seq]):
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r} that could be pinned")
    settings = memory.store.settings(memory.bank)
    stale_seqs = set(pinned_seqs(settings.get(SETTING_PINNED))).difference(
        line.seq for line in list_pins(memory, settings)
    )

    def add_pin(value: JSONValue | None) -> JSONValue | None:
        seqs = [pinned for pinned in pinned_seqs(value) if pinned not in stale_seqs]
        if seq in seqs:
            return value
        if len(seqs) >= MAX_PINS:
            raise BadInput(
                f"{MAX_PINS} lines are pinned already, the most that are allowed; unpin one of them first",
                reason="many-pins",
                values={"limit": MAX_PINS},
            )
        return sorted([*seqs, seq])

    memory.store.update_setting(memory.bank, SETTING_PINNED, add_pin)
    return list_pins(memory)


def remove(memory: Memory, seq: int) -> list[Line]:
    """Unpin a line, if it is pinned, and return the pinned lines."""
    memory.store.update_setting(memory.bank, SETTING_PINNED, lambda value: remove_pins(value, [seq]))
    return list_pins(memory)


def render(lines: Sequence[Line], count: TokenCounter = estimate_tokens) -> str:
    """Render lines for a prompt, with dates and speakers as in passages, in PINS_BUDGET_TOKENS.

    If not all fit, the newest are rendered; a single line that is too long is cut.
    """
    for first in range(len(lines)):
        if count(text := format_lines(lines[first:])) <= PINS_BUDGET_TOKENS:
            return text
    return _cut(format_lines(lines[-1:]), count) if lines else ""


def _cut(text: str, count: TokenCounter) -> str:
    while count(text) > PINS_BUDGET_TOKENS and len(text) > MIN_CUT_CHARS:
        text = text[: len(text) * 3 // 4].rstrip() + "…"
    return text
