"""Pins: lines that always stand in the prompt."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from everthread.bank import validation
from everthread.chat import pins
from everthread.memory import Memory
from everthread.server.auth import Changing, Reading
from everthread.server.bodies import KeyFirst
from everthread.server.idempotency import IdempotentRequest, Once
from everthread.server.schemas import All, LineView
from everthread.types import Line

router = APIRouter(prefix="/banks/{bank}/pins", tags=["pins"], route_class=KeyFirst)


@router.get("", response_model=All[LineView])
def listed(memory: Reading) -> dict[str, list[Line]]:
    """The pinned lines, in the order of the conversation. One that is retracted or forgotten is pinned no more."""
    return {"items": pins.list_pins(memory)}


@router.put("/{seq}", response_model=All[LineView])
def add(memory: Changing, once: Once, seq: int) -> dict[str, list[Line]]:
    """Pin a line."""
    return _once(memory, once, lambda: pins.add(memory, validation.check_seq(seq, memory.bank)))


@router.delete("/{seq}", response_model=All[LineView])
def remove(memory: Changing, once: Once, seq: int) -> dict[str, list[Line]]:
    """Take a line off."""
    return _once(memory, once, lambda: pins.remove(memory, validation.check_seq(seq, memory.bank)))


def _once(memory: Memory, once: IdempotentRequest, change: Callable[[], list[Line]]) -> dict[str, list[Line]]:
    return {"items": once.once(change, lambda _: True, lambda _: pins.list_pins(memory))}
