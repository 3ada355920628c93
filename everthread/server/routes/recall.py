"""Recall: the lines relevant to a query, as hits or as text for a prompt."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from everthread.server.metrics import RequestMetrics
from everthread.server.permissions import ReadMemory, require
from everthread.server.recall_schemas import (
    ContextBody,
    ContextView,
    FoundLinesView,
    HitView,
    RecallBody,
    SearchBody,
    UnitHitView,
)
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import ItemList
from everthread.types import Context

router = create_router("recall", "/banks/{bank}")


@router.post("/recall", response_model=ItemList[HitView | UnitHitView])
def recall(request: Request, memory: ReadMemory, metrics: RequestMetrics, body: RecallBody) -> dict[str, Any]:
    """Find the lines most relevant to a query, best first, each with its neighbours."""
    require(request, "read", *(body.banks or ()))
    metrics.recalls.inc()
    hits = memory.recall(
        body.query,
        body.k,
        where=body.to_filter(),
        as_of=body.as_of,
        exclude=body.exclude,
        banks=body.banks,
        facts=body.facts,
    )
    return {"items": hits}


@router.post("/search", response_model=FoundLinesView)
def search(memory: ReadMemory, body: SearchBody) -> dict[str, Any]:
    """Find the lines that contain all words of a text, also as parts of words, those said last first."""
    where = None if body.where is None else body.where.to_filter()
    found = list(memory.search(body.text, where, before=body.before, limit=body.limit + 1))
    items = found[: body.limit]
    return {"items": items, "next": items[-1].seq if len(found) > len(items) else None}


@router.post("/context", response_model=ContextView)
def context(request: Request, memory: ReadMemory, metrics: RequestMetrics, body: ContextBody) -> Context:
    """Format what is relevant to a query as text for a prompt; empty if nothing is relevant."""
    require(request, "read", *(body.banks or ()))
    metrics.recalls.inc()
    return memory.context(
        body.query,
        body.budget,
        where=body.to_filter(),
        as_of=body.as_of,
        session=body.session,
        gate=body.gate,
        min_relevance=body.min_relevance,
        exclude=body.exclude,
        banks=body.banks,
        deadline_s=body.deadline_s,
        facts=body.facts,
    )
