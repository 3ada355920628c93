"""mem0's hosted API: its own client, `MemoryClient(host=…)`, works on this server.

The paths are mem0's, below /v1, /v2 and /v3, and end with a slash. The memories of the user nora are the bank
`mem0/user/nora`; what a key allows for this bank, it allows for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from everthread.compat.mem0.banks import MemoryBanks, MemoryNotFound
from everthread.compat.mem0.filters import find_ids
from everthread.compat.mem0.ids import ID_NAMES, KIND_BY_ID, name_bank, owner_of, require_ids
from everthread.compat.mem0.memory import DEFAULT_THRESHOLD, DEFAULT_TOP_K, Memories, Record
from everthread.errors import NotFound
from everthread.memory import Memory as Bank
from everthread.server.keys import Verb
from everthread.server.path_segments import PathSegment
from everthread.server.permissions import (
    Conversations,
    PermissionCheck,
    forbidden,
    get_caller,
    get_services,
    permitted_banks,
    require,
)
from everthread.server.proxy.message_text import drop_cached_texts
from everthread.server.request_body import AuthFirstRoute

router = APIRouter(include_in_schema=False, route_class=AuthFirstRoute)

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1_000
DELETED = {"message": "Memory deleted successfully!"}


class RequireMemories(PermissionCheck):
    """Dependency: the memories with which the caller may use a verb. A key of mem0 is ignored if none is needed."""

    def check(self, request: Request) -> None:
        """Check that the caller may use the verb with some bank.

        Raises:
            Problem: 401 or 403.
        """
        if not hasattr(request.state, "caller"):
            request.state.caller = request.app.state.authenticator.authenticate_model_client(request)
        caller = get_caller(request)
        if caller is not None and self.verb not in caller.verbs:
            raise forbidden(caller)

    def __call__(self, request: Request) -> Memories:
        self.check(request)
        services = get_services(request)

        def open_bank(bank: str) -> Bank:
            require(request, self.verb, bank)
            return services.get_memory(bank, create=True)

        def list_banks() -> list[str]:
            return permitted_banks(request, self.verb, services.store.banks())

        return Memories(MemoryBanks(services.store, open_bank, list_banks))


ReadMemories = Annotated[Memories, Depends(RequireMemories("read"))]
WriteMemories = Annotated[Memories, Depends(RequireMemories("write"))]
ForgetMemories = Annotated[Memories, Depends(RequireMemories("forget"))]


class AddBody(BaseModel):
    """Messages to store; the ids are fields or filters. Other options of mem0 make no difference."""

    messages: Any
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    app_id: Any = None
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    timestamp: float | str | None = None
    expiration_date: str | None = None


class ListBody(BaseModel):
    """Filters of a list."""

    filters: dict[str, Any] | None = None
    show_expired: bool = False


class SearchBody(ListBody):
    """A query."""

    query: str
    top_k: int = DEFAULT_TOP_K
    threshold: float | None = DEFAULT_THRESHOLD
    rerank: bool = False
    reference_date: float | str | None = None


class UpdateBody(BaseModel):
    """Changes of a memory."""

    text: str | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: str | None = None

    def apply(self, memories: Memories, memory_id: str) -> None:
        """Update a memory."""
        memories.update(memory_id, **self.model_dump(include=self.model_fields_set & UpdateBody.model_fields.keys()))


class BatchItem(UpdateBody):
    """A memory of a batch."""

    memory_id: str


class BatchBody(BaseModel):
    """Several memories."""

    memories: list[BatchItem]


@router.get("/v1/ping/")
def ping(memories: ReadMemories) -> dict[str, Any]:
    """Confirm the key."""
    return {"status": "ok", "org_id": "everthread", "project_id": "everthread", "user_email": None}


@router.post("/v3/memories/add/")
def add(memories: WriteMemories, body: AddBody) -> Record:
    """Store messages, each as a memory."""
    ids = require_ids(
        find_ids(body.filters or {}) | {name: value for name in ID_NAMES if (value := getattr(body, name)) is not None}
    )
    return memories.add_for(
        ids, body.messages, metadata=body.metadata, timestamp=body.timestamp, expiration_date=body.expiration_date
    )


@router.post("/v3/memories/")
def list_memories(
    request: Request,
    memories: ReadMemories,
    body: ListBody,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    page_size: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE)] = DEFAULT_PAGE_SIZE,
) -> dict[str, Any]:
    """List memories, the newest first."""
    require_owner(request, "read", find_ids(body.filters or {}))
    first = (page - 1) * page_size
    total, found = memories.list_page(body.filters, skip=first, count=page_size, show_expired=body.show_expired)
    address = partial(request.url.include_query_params, page_size=page_size)
    return {
        "count": total,
        "next": str(address(page=page + 1)) if first + page_size < total else None,
        "previous": str(address(page=page - 1)) if page > 1 else None,
        "results": found,
    }


@router.post("/v3/memories/search/")
def search(request: Request, memories: ReadMemories, body: SearchBody) -> Record:
    """Find the memories that are relevant to a query."""
    require_owner(request, "read", find_ids(body.filters or {}))
    return memories.search(**dict(body))


@router.get("/v1/memories/{memory_id}/")
def get(memories: ReadMemories, memory_id: PathSegment) -> Record:
    """Get a memory."""
    record = memories.get(memory_id)
    if record is None:
        raise MemoryNotFound(f"there is no memory {memory_id!r}")
    return record


@router.get("/v1/memories/{memory_id}/history/")
def history(memories: ReadMemories, memory_id: PathSegment) -> list[Record]:
    """Get the events of a memory."""
    return memories.history(memory_id)


@router.put("/v1/memories/{memory_id}/")
def update(memories: WriteMemories, memory_id: PathSegment, body: UpdateBody) -> Record:
    """Change a memory."""
    body.apply(memories, memory_id)
    return get(memories, memory_id)


@router.delete("/v1/memories/{memory_id}/")
def delete(memories: ForgetMemories, conversations: Conversations, memory_id: PathSegment) -> Record:
    """Delete a memory."""
    _delete(memories, conversations, memory_id)
    return DELETED


@router.delete("/v1/memories/")
def delete_all(
    request: Request,
    memories: ForgetMemories,
    conversations: Conversations,
    user_id: str | None = None,
    agent_id: str | None = None,
    run_id: str | None = None,
    app_id: str | None = None,
) -> Record:
    """Delete all memories of a user, an agent, a run or an app; with several ids, those that have all of them."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "app_id": app_id}
    _delete_all(request, memories, conversations, ids)
    return {"message": "Memories deleted successfully!"}


@router.get("/v1/entities/")
def entities(memories: ReadMemories) -> dict[str, Any]:
    """List the users, and the agents, runs and apps that have memories without a user."""
    owners = [(KIND_BY_ID[name], owner) for bank in memories.banks.list_all() for name, owner in owner_of(bank).items()]
    found = [{"id": f"{kind}/{owner}", "type": kind, "name": owner} for kind, owner in owners]
    return {"count": len(found), "next": None, "previous": None, "results": found}


@router.delete("/v2/entities/{kind}/{name}/")
def delete_entity(
    request: Request, memories: ForgetMemories, conversations: Conversations, kind: str, name: PathSegment
) -> Record:
    """Delete all memories of a user, an agent, a run or an app."""
    ids = {each: name for each in ID_NAMES if KIND_BY_ID[each] == kind}
    if not ids:
        raise NotFound(f"there is no {kind!r}; expected user, agent, run or app")
    _delete_all(request, memories, conversations, ids)
    return {"message": "Entity deleted successfully!"}


@router.put("/v1/batch/")
def update_batch(memories: WriteMemories, body: BatchBody) -> Record:
    """Change several memories; all must exist."""
    for item in body.memories:
        memories.banks.require(item.memory_id)
    for item in body.memories:
        item.apply(memories, item.memory_id)
    return {"message": f"Successfully updated {len(body.memories)} memories"}


@router.delete("/v1/batch/")
def delete_batch(memories: ForgetMemories, conversations: Conversations, body: BatchBody) -> Record:
    """Delete several memories; all must exist."""
    seqs: defaultdict[str, set[int]] = defaultdict(set)  # the lines of each bank
    for item in body.memories:
        bank, line = memories.banks.require(item.memory_id)
        seqs[bank.bank].add(line.seq)
    for name, numbers in seqs.items():
        with conversations.pause_bank(name), suppress(NotFound):  # another request was faster
            memories.banks.open(name).forget(seq=numbers)
    drop_cached_texts()
    return {"message": f"Successfully deleted {len(body.memories)} memories"}


def require_owner(request: Request, verb: Verb, ids: Mapping[str, str]) -> None:
    """Check that the caller may use the verb with the bank that ids name, whether or not it exists.

    Raises:
        Problem: 401 or 403.
    """
    if ids:
        require(request, verb, name_bank(ids))


def _delete(memories: Memories, conversations: Conversations, memory_id: str) -> None:
    bank, _ = memories.banks.require(memory_id)
    with conversations.pause_bank(bank.bank):
        memories.delete(memory_id)
    drop_cached_texts()


def _delete_all(
    request: Request, memories: Memories, conversations: Conversations, given: Mapping[str, str | None]
) -> None:
    ids = require_ids(given)
    require_owner(request, "forget", ids)
    with ExitStack() as paused:
        for bank in memories.banks.find(ids):
            is_whole = len(ids) == 1 and bank.bank == name_bank(ids)
            paused.enter_context(conversations.pause_bank(bank.bank, close=is_whole))
        memories.delete_for(ids)
    drop_cached_texts()
