"""Facts, profiles and entities, to read, confirm, correct, end and forget."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Path, Query

from everthread.errors import NotFound
from everthread.facts.history import find_positions
from everthread.facts.types import Entity, Fact, Profile
from everthread.memory import Memory
from everthread.server.fact_schemas import (
    EntityView,
    FactEndBody,
    FactLinesView,
    FactReceiptView,
    FactValueBody,
    FactView,
    MergeBody,
    ProfileView,
    SplitBody,
)
from everthread.server.idempotency import Idempotency
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import Conversations, ForgetMemory, ReadMemory, WriteMemory
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList, Page
from everthread.stores.limits import MAX_SEQ
from everthread.types import now

router = create_router("facts", "/banks/{bank}")

Id = Annotated[int, Path(ge=1, le=MAX_SEQ, description="The number of a fact, or of one of its statements.")]
Ended = Annotated[bool, Query(description="Facts that have ended or were replaced, too.")]


@router.get("/facts", response_model=Page[FactView])
def facts(
    memory: ReadMemory,
    subject: Annotated[str | None, Query(description="Only about this one: a name or an alias.")] = None,
    attribute: Annotated[str | None, Query(description="Only of this attribute, such as home.")] = None,
    as_of: Annotated[datetime | None, Query(description="Only facts that held at this time.")] = None,
    known_at: Annotated[datetime | None, Query(description="Only what had been said until this time.")] = None,
    ended: Ended = False,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List what is known, attribute by attribute; of an attribute with several values, what was said last first."""
    previous = decode_cursor(after, (int,) * 6)
    found = memory.facts(subject, attribute, as_of=as_of, known_at=known_at, include_ended=ended)
    positions = {number: [*position] for number, position in find_positions(found).items()}
    following = (fact for fact in found if previous is None or positions[fact.id] > previous)
    return build_page(following, limit, lambda fact: positions[fact.id])


@router.get("/entities", response_model=ItemList[EntityView])
def entities(memory: ReadMemory) -> dict[str, list[Entity]]:
    """List the people, pets, places, organisations and things that facts name, in the order of their mention."""
    return {"items": memory.entities()}


@router.get("/profile", response_model=ProfileView)
def profile(
    memory: ReadMemory,
    name: Annotated[str | None, Query(description="A name or an alias. Default: the person.")] = None,
    ended: Ended = False,
) -> Profile:
    """Get what is known of one entity."""
    return memory.profile(name, include_ended=ended)


@router.get("/facts/{id}", response_model=FactView)
def fact(memory: ReadMemory, id: Id) -> Fact:
    """Get a fact by its number, whether or not it still holds."""
    return memory.get_fact(id)


@router.post("/facts/{id}/confirm", response_model=FactView)
def confirm_fact(memory: WriteMemory, idempotency: Idempotency, id: Id) -> Fact:
    """Note that the person has confirmed a fact."""
    return idempotency.run_once(lambda: memory.confirm_fact(id), _get_id, memory.get_fact)


@router.patch("/facts/{id}", response_model=FactView)
def correct_fact(memory: WriteMemory, idempotency: Idempotency, id: Id, body: FactValueBody) -> Fact:
    """Replace the value of a fact, also in the past. Its lines stay as they are."""
    return idempotency.run_once(lambda: memory.correct_fact(id, body.value), _get_id, memory.get_fact)


@router.post("/facts/{id}/end", response_model=FactView)
def end_fact(memory: WriteMemory, idempotency: Idempotency, id: Id, body: FactEndBody) -> Fact:
    """Note that a fact is no longer true, or since when."""
    return idempotency.run_once(lambda: memory.end_fact(id, body.moment), _get_id, memory.get_fact)


@router.post("/facts/{id}/resume", response_model=FactView)
def resume_fact(memory: WriteMemory, idempotency: Idempotency, id: Id) -> Fact:
    """Note that a fact that has ended is still true."""
    return idempotency.run_once(lambda: memory.resume_fact(id), _get_id, memory.get_fact)


def _get_id(fact: Fact) -> int:
    return fact.id


@router.get("/facts/{id}/lines", response_model=FactLinesView)
def list_fact_lines(memory: ReadMemory, id: Id) -> dict[str, Any]:
    """List the numbers of the lines that state a fact's value, also at other times: all that go with it."""
    return {"id": id, "seqs": memory.list_fact_lines(id)}


@router.delete("/facts/{id}", response_model=FactReceiptView)
def forget_fact(
    memory: ForgetMemory,
    idempotency: Idempotency,
    conversations: Conversations,
    id: Id,
    with_lines: Annotated[bool, Query(description="Forget the lines that state it as well.")] = False,
) -> dict[str, Any]:
    """Delete a fact for good. Its lines stay unless they are forgotten with it, and never state it again."""

    def remove() -> dict[str, Any]:
        with conversations.pause_bank(memory.bank):  # replies in progress may contain its lines
            seqs = memory.forget_fact(id, with_lines=with_lines)
            return {"seqs": seqs, "forgotten_at": now().isoformat()}

    return {"id": id, "with_lines": with_lines, **idempotency.run_once(remove, dict, dict)}


@router.post("/entities/merge", response_model=EntityView)
def merge_entities(memory: WriteMemory, idempotency: Idempotency, body: MergeBody) -> Entity:
    """Note that two entities are one. Splitting undoes it."""
    return idempotency.run_once(
        lambda: memory.merge_entities(body.name, body.other), _list_statements, partial(_find_entity, memory)
    )


@router.post("/entities/split", response_model=EntityView)
def split_entity(memory: WriteMemory, idempotency: Idempotency, body: SplitBody) -> Entity:
    """Note that statements about an entity are about another one. Merging undoes it."""
    return idempotency.run_once(
        lambda: memory.split_entity(body.name, body.statements), _list_statements, partial(_find_entity, memory)
    )


def _list_statements(entity: Entity) -> list[int]:
    return list(entity.statements)


def _find_entity(memory: Memory, statements: list[int]) -> Entity:
    """Return the entity that has most of these statements, and the fewest others: a statement may name two."""
    named = set(statements)
    found = max(memory.entities(), key=lambda each: _overlap(named, each), default=None)
    if found is None or named.isdisjoint(found.statements):
        raise NotFound(f"none of the statements {statements} is left in bank {memory.bank!r}")
    return found


def _overlap(statements: set[int], entity: Entity) -> float:
    """Return the Jaccard index of statements and those of an entity."""
    return len(statements.intersection(entity.statements)) / len(statements.union(entity.statements))
