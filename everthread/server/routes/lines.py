"""Lines: keep, list, edit, retract, forget."""

from __future__ import annotations

from fastapi import APIRouter

from everthread.errors import NotFound
from everthread.server.access import Reading, Writing
from everthread.server.wire import LineBody, LineView
from everthread.types import Line

router = APIRouter(prefix="/banks/{bank}/lines", tags=["lines"])


@router.post("", status_code=201, response_model=LineView)
def observe(memory: Writing, body: LineBody) -> Line:
    """Keep one line. It is on the disk when this answers."""
    return memory.observe_many([body.new()])[0]


@router.get("/{seq}", response_model=LineView)
def get(memory: Reading, seq: int) -> Line:
    """One line that stands."""
    found = memory.store.get(memory.bank, [seq])
    if not found:
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r}")
    return found[0]
