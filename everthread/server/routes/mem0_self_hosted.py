"""The API of mem0's self-hosted server, for programs that send its requests. Served by `everthread serve --mem0`.

Its paths are at the root of the address. The memories, and what a key allows for them, are those of `mem0`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from everthread.compat.mem0.ids import require_ids
from everthread.compat.mem0.memory import Record
from everthread.server.path_segments import PathSegment
from everthread.server.permissions import Conversations
from everthread.server.proxy.message_text import drop_cached_texts
from everthread.server.request_body import AuthFirstRoute
from everthread.server.routes import mem0
from everthread.server.routes.mem0 import ForgetMemories, ReadMemories, WriteMemories

router = APIRouter(include_in_schema=False, route_class=AuthFirstRoute)
router.add_api_route("/memories", mem0.add, methods=["POST"])
router.add_api_route("/memories", mem0.delete_all, methods=["DELETE"])
router.add_api_route("/memories/{memory_id}", mem0.get, methods=["GET"])
router.add_api_route("/memories/{memory_id}", mem0.delete, methods=["DELETE"])
router.add_api_route("/memories/{memory_id}/history", mem0.history, methods=["GET"])


class SearchBody(mem0.SearchBody):
    """A query; the ids are fields or filters."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None


class UpdateBody(mem0.UpdateBody):
    """Changes of a memory."""

    data: str | None = None  # the former name of `text`


@router.get("/memories")
def list_memories(
    request: Request,
    memories: ReadMemories,
    user_id: str | None = None,
    agent_id: str | None = None,
    run_id: str | None = None,
    top_k: Annotated[int, Query(ge=1, le=mem0.MAX_PAGE_SIZE)] = mem0.DEFAULT_PAGE_SIZE,
) -> Record:
    """List the memories of a user, an agent or a run, the newest first."""
    ids = require_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    mem0.require_owner(request, "read", ids)
    return memories.get_all(filters=ids, top_k=top_k)


@router.post("/search")
def search(request: Request, memories: ReadMemories, body: SearchBody) -> Record:
    """Find the memories that are relevant to a query."""
    named = {"user_id": body.user_id, "agent_id": body.agent_id, "run_id": body.run_id}
    ids = {name: value for name, value in named.items() if value is not None}
    fields = body.model_dump(exclude=set(named))
    return mem0.search(request, memories, mem0.SearchBody(**{**fields, "filters": {**(body.filters or {}), **ids}}))


@router.put("/memories/{memory_id}")
def update(memories: WriteMemories, memory_id: PathSegment, body: UpdateBody) -> dict[str, Any]:
    """Change a memory."""
    return memories.update(memory_id, **body.model_dump(exclude_unset=True))


@router.post("/reset")
def reset(memories: ForgetMemories, conversations: Conversations) -> Record:
    """Delete all memories that the caller may delete."""
    with ExitStack() as paused:
        for bank in memories.banks.list_all():
            paused.enter_context(conversations.pause_bank(bank, close=True))
        memories.reset()
    drop_cached_texts()
    return {"message": "All memories reset"}
