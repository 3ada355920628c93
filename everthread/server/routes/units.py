"""Units: texts written about lines; notes are one kind of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request

from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import Idempotency
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import Conversations, ForgetMemory, ReadMemory, WriteMemory, require
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import NotesBody, NotesView, Page, TextBody, UnitReceiptView, UnitView
from everthread.stores.limits import MAX_SEQ
from everthread.types import Unit, now

router = create_router("units", "/banks/{bank}")

Kind = Annotated[path_segments.PathSegment, Path(description="The kind of the unit: note, summary, fact, …")]
Id = Annotated[int, Path(ge=1, le=MAX_SEQ, description="The unit's number among those of its kind.")]


@router.get("/units", response_model=Page[UnitView])
def units(
    memory: ReadMemory,
    kind: Annotated[str | None, Query(description="Only of this kind: note, summary, fact, …")] = None,
    current: Annotated[bool, Query(description="Only current ones.")] = False,
    category: Annotated[str | None, Query(description="Only of this category: food, work, …")] = None,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List units by kind and number."""
    previous = decode_cursor(after, (str, int))
    ordered = sorted(memory.units(kind, only_current=current, category=category), key=_get_position)
    following = (unit for unit in ordered if previous is None or _get_position(unit) > previous)
    return build_page(following, limit, _get_position)


def _get_position(unit: Unit) -> list[Any]:
    return [unit.kind, unit.id]


@router.patch("/units/{kind}/{id}", response_model=UnitView)
def edit_unit(memory: WriteMemory, idempotency: Idempotency, kind: Kind, id: Id, body: TextBody) -> Unit:
    """Replace the text of a current unit, with one that supersedes it."""
    return idempotency.run_once(
        lambda: memory.edit_unit(kind, id, body.text),
        lambda unit: unit.id,
        lambda number: _get_unit(memory, kind, number),
    )


def _get_unit(memory: Memory, kind: str, number: int) -> Unit:
    units = memory.store.units(memory.bank, (kind,), ids=[number])
    if not units:
        raise NotFound(f"there is no {kind} {number} any more in bank {memory.bank!r}")
    return units[0]


@router.delete("/units/{kind}/{id}", response_model=UnitReceiptView)
def forget_unit(
    memory: ForgetMemory, idempotency: Idempotency, conversations: Conversations, kind: Kind, id: Id
) -> dict[str, Any]:
    """Remove a unit for good, with those that it superseded. The lines remain."""

    def forget() -> dict[str, Any]:
        with conversations.pause_bank(memory.bank):  # replies in progress contain notes
            return {"earlier": memory.forget_unit(kind, id)[1:], "forgotten_at": now().isoformat()}

    return {"kind": kind, "id": id, **idempotency.run_once(forget, dict, dict)}


@router.get("/notes", response_model=NotesView)
def notes(memory: ReadMemory) -> dict[str, Any]:
    """Get the current notes."""
    current = memory.units("note", only_current=True)
    return {"text": current[-1].text, "id": current[-1].id} if current else {"text": "", "id": None}


@router.put("/notes", response_model=NotesView)
def set_notes(
    request: Request, memory: WriteMemory, idempotency: Idempotency, conversations: Conversations, body: NotesBody
) -> dict[str, Any]:
    """Replace the notes. A blank text removes them and all earlier ones, which needs a key with `forget`."""
    if is_blank := not body.text.strip():
        require(request, "forget", memory.bank)

    def write() -> dict[str, Any]:
        if is_blank:
            return _clear_notes(memory, conversations)
        current = notes(memory)
        if current["text"] == body.text:
            return current
        unit = memory.set_notes(body.text)
        return {"text": unit.text, "id": unit.id}

    return idempotency.run_once(write, lambda _: True, lambda _: notes(memory))


def _clear_notes(memory: Memory, conversations: ConversationRegistry) -> dict[str, Any]:
    """Forget all notes; an empty note would not be a unit."""
    with conversations.pause_bank(memory.bank):
        while (current := notes(memory))["id"] is not None:
            memory.forget_unit("note", current["id"])
    return current
