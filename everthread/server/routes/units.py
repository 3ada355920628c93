"""Units: what was written of the lines; and the notes, which are one of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.auth import Conversations, ForgetMemory, ReadMemory, WriteMemory, require
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import Idempotency
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, page, place
from everthread.server.request_body import AuthFirstRoute
from everthread.server.schemas import NotesBody, NotesView, Page, TextBody, UnitReceiptView, UnitView
from everthread.stores.limits import LARGEST_SEQ
from everthread.types import Unit

router = APIRouter(prefix="/banks/{bank}", tags=["units"], route_class=AuthFirstRoute)

Kind = Annotated[path_segments.PathSegment, Path(description="What kind of unit: note, summary, fact, …")]
Id = Annotated[int, Path(ge=1, le=LARGEST_SEQ, description="The unit's number among those of its kind.")]


@router.get("/units", response_model=Page[UnitView])
def units(
    memory: ReadMemory,
    kind: Annotated[str | None, Query(description="Only of this kind: note, summary, fact, …")] = None,
    current: Annotated[bool, Query(description="Without those that a later one has superseded.")] = False,
    category: Annotated[str | None, Query(description="Only of this category: food, work, …")] = None,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List what was written of the lines, by kind and number."""
    behind = place(after, (str, int))
    found = sorted(memory.units(kind, current=current, category=category), key=_place)
    return page((unit for unit in found if behind is None or _place(unit) > behind), limit, _place)


def _place(unit: Unit) -> list[Any]:
    return [unit.kind, unit.id]


@router.patch("/units/{kind}/{id}", response_model=UnitView)
def edit_unit(memory: WriteMemory, once: Idempotency, kind: Kind, id: Id, body: TextBody) -> Unit:
    """Put another text in the place of a current unit, which it supersedes."""
    return once.run_once(
        lambda: memory.edit_unit(kind, id, body.text),
        lambda unit: unit.id,
        lambda number: _unit(memory, kind, number),
    )


def _unit(memory: Memory, kind: str, number: int) -> Unit:
    found = memory.store.units(memory.bank, (kind,), ids=[number])
    if not found:
        raise NotFound(f"there is no {kind} {number} any more in bank {memory.bank!r}")
    return found[0]


@router.delete("/units/{kind}/{id}", response_model=UnitReceiptView)
def forget_unit(
    memory: ForgetMemory, once: Idempotency, conversations: Conversations, kind: Kind, id: Id
) -> dict[str, Any]:
    """Remove a unit for good, and those whose place it took. The lines stay."""

    def forget() -> list[int]:
        with conversations.pause_bank(memory.bank):  # replies tell of notes
            return memory.forget_unit(kind, id)

    return {"kind": kind, "id": id, "earlier": once.run_once(forget, list[int], list[int])[1:]}


@router.get("/notes", response_model=NotesView)
def notes(memory: ReadMemory) -> dict[str, Any]:
    """The notes as they stand."""
    found = memory.units("note", current=True)
    return {"text": found[-1].text, "id": found[-1].id} if found else {"text": "", "id": None}


@router.put("/notes", response_model=NotesView)
def set_notes(
    request: Request, memory: WriteMemory, once: Idempotency, conversations: Conversations, body: NotesBody
) -> dict[str, Any]:
    """Write the notes by hand, in the place of those that stand. A blank text empties them: they and those before them
    are forgotten, for which a key must be allowed to forget."""
    if blank := not body.text.strip():
        require(request, "forget", memory.bank)

    def write() -> dict[str, Any]:
        if blank:
            return _emptied(memory, conversations)
        now = notes(memory)
        if now["text"] == body.text:
            return now
        unit = memory.set_notes(body.text)
        return {"text": unit.text, "id": unit.id}

    return once.run_once(write, lambda _: True, lambda _: notes(memory))


def _emptied(memory: Memory, conversations: ConversationRegistry) -> dict[str, Any]:
    """The notes once all of them are forgotten. An empty one in their place would be no unit."""
    with conversations.pause_bank(memory.bank):
        while (now := notes(memory))["id"] is not None:
            memory.forget_unit("note", now["id"])
    return now
