"""Pins: lines that are included in every prompt."""

from __future__ import annotations

from collections.abc import Callable

from everthread.bank import validation
from everthread.chat import pins
from everthread.memory import Memory
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.permissions import ReadMemory, WriteMemory
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList, LineView
from everthread.types import Line

router = create_router("pins", "/banks/{bank}/pins")


@router.get("", response_model=ItemList[LineView])
def list_pins(memory: ReadMemory) -> dict[str, list[Line]]:
    """List the pinned lines in the order of the conversation. Retracted and forgotten lines are no longer pinned."""
    return {"items": pins.list_pins(memory)}


@router.put("/{seq}", response_model=ItemList[LineView])
def add_pin(memory: WriteMemory, idempotency: Idempotency, seq: int) -> dict[str, list[Line]]:
    """Pin a line."""
    return _apply_once(memory, idempotency, lambda: pins.add(memory, validation.check_seq(seq, memory.bank)))


@router.delete("/{seq}", response_model=ItemList[LineView])
def remove_pin(memory: WriteMemory, idempotency: Idempotency, seq: int) -> dict[str, list[Line]]:
    """Unpin a line."""
    return _apply_once(memory, idempotency, lambda: pins.remove(memory, validation.check_seq(seq, memory.bank)))


def _apply_once(
    memory: Memory, idempotency: IdempotentRequest, change: Callable[[], list[Line]]
) -> dict[str, list[Line]]:
    return {"items": idempotency.run_once(change, lambda _: True, lambda _: pins.list_pins(memory))}
