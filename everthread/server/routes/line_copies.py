"""The copies of a line of a group chat, in the banks of the characters who heard it."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import Request

from everthread.bank.line_versions import get_recorded
from everthread.chat.line_copies import list_copies
from everthread.errors import NotFound
from everthread.server.permissions import ReadMemory, permitted_banks
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList, LineView, PathSeq, View

router = create_router("lines", "/banks/{bank}/lines/{seq}/copies")


class LineCopyView(View):
    """A line as a bank stores it, under its number there. name: of the bank's character."""

    bank: str
    name: str
    line: LineView


@router.get("", response_model=ItemList[LineCopyView])
def copies(request: Request, memory: ReadMemory, seq: PathSeq) -> dict[str, Any]:
    """List a line, and its copies in the other banks in which it was heard, as far as the key may read these.

    To correct or forget what was said in a group, do so with each copy.
    """
    line = get_recorded(memory.store, memory.bank, seq)
    if line is None:
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r}")
    return {"items": list_copies(memory.store, memory.bank, line, partial(permitted_banks, request, "read"))}
