"""Sessions: the conversations of a bank, their titles, and the relevance buffer of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AwareDatetime

from everthread.bank.corrections import sort_by_position
from everthread.chat.session_title import read_titles
from everthread.common.timestamps import to_micros
from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.recall.relevance_buffer import MAX_PASSAGE_LINES
from everthread.server import path_segments
from everthread.server.idempotency import Idempotency
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import Conversations, ForgetMemory, ReadMemory, WriteMemory
from everthread.server.routes.api_router import create_router
from everthread.server.routes.receipts import forget_once
from everthread.server.schemas import BufferBody, ItemList, Page, PassageView, ReceiptView, SessionChanges, SessionView
from everthread.types import Filter, Metadata, Session

router = create_router("sessions", "/banks/{bank}/sessions")

MAX_OPENING_CHARS = 120
Name = Annotated[path_segments.PathSegment, Path(description="A session's name; a / in it is written %2F.")]


@router.get("", response_model=Page[SessionView])
def sessions(
    memory: ReadMemory,
    tag: Annotated[str | None, Query(description="Only those whose metadata list this among their `tags`.")] = None,
    archived: Annotated[bool | None, Query(description="Only those whose metadata say this of `archived`.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Only those that went on at this time or later.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Only those that began before this time.")] = None,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List the conversations: those whose metadata have `"pinned": true` first, then the latest first."""
    previous = decode_cursor(after, (int, int, int))
    chosen = (
        session
        for session in memory.sessions()
        if (tag is None or tag in _get_tags(session.metadata))
        and (archived is None or archived is (session.metadata.get("archived") is True))
        and (since is None or session.last_at >= since)
        and (until is None or session.started_at < until)
    )
    latest_first = sorted(chosen, key=lambda session: _get_position(asdict(session)), reverse=True)
    following = (session for session in latest_first if not previous or _get_position(asdict(session)) < previous)
    return build_page(_build_views(memory, following), limit, _get_position)


def _get_tags(metadata: Metadata) -> list[object]:
    """Return the tags in the metadata of a conversation, which may hold anything under this name."""
    tags = metadata.get("tags")
    return list(tags) if isinstance(tags, list) else []


def _get_position(session: dict[str, Any]) -> list[Any]:
    """Return the position of a conversation in the list."""
    return [int(session["metadata"].get("pinned") is True), to_micros(session["last_at"]), session["first_seq"]]


def _build_views(memory: Memory, sessions: Iterable[Session]) -> Iterator[dict[str, Any]]:
    """Yield sessions with the model's title, their opening and summary."""
    titles = read_titles(memory)
    summaries = {unit.metadata.get("session"): unit.text for unit in memory.units("summary", only_current=True)}
    for session in sessions:
        first_lines = memory.lines(Filter(session=session.id, role="user"), limit=1)
        opening = next((line.text[:MAX_OPENING_CHARS] for line in first_lines), None)
        texts = {"model_title": titles.get(session.id), "opening": opening, "summary": summaries.get(session.id)}
        yield {**asdict(session), **texts}


@router.get("/{session}", response_model=SessionView)
def session(memory: ReadMemory, session: Name) -> dict[str, Any]:
    """Get a conversation."""
    return next(_build_views(memory, [_find_session(memory, session)]))


@router.patch("/{session}", response_model=SessionView)
def set_session(memory: WriteMemory, idempotency: Idempotency, session: Name, body: SessionChanges) -> dict[str, Any]:
    """Set the title or the metadata of a conversation."""
    changes = body.get_changes()
    idempotency.run_once(lambda: memory.set_session(session, **changes), lambda _: True, lambda _: None)
    return next(_build_views(memory, [_find_session(memory, session)]))


def _find_session(memory: Memory, name: str) -> Session:
    for session in memory.sessions():
        if session.id == name:
            return session
    raise NotFound(f"there is no session {name!r} in bank {memory.bank!r}")


@router.delete("/{session}", response_model=ReceiptView)
def forget_session(
    memory: ForgetMemory, idempotency: Idempotency, conversations: Conversations, session: Name
) -> ReceiptView:
    """Forget a conversation, for good."""
    return forget_once(idempotency, conversations, memory.bank, lambda: memory.forget(session=session))


@router.get("/{session}/buffer", response_model=ItemList[PassageView])
def buffer(memory: ReadMemory, session: Name) -> dict[str, Any]:
    """Get the passages that were recalled lately in a conversation and stay in view, the oldest first."""
    _find_session(memory, session)
    spans = memory.store.buffer(memory.bank, session)
    return {"items": [_passage(memory, first, last) for first, last in spans]}


def _passage(memory: Memory, first: int, last: int) -> dict[str, Any]:
    lines = memory.store.get(memory.bank, range(first, last + 1))
    return {"first_seq": first, "last_seq": last, "lines": sort_by_position(lines)}


@router.put("/{session}/buffer", response_model=ItemList[PassageView])
def set_buffer(memory: WriteMemory, idempotency: Idempotency, session: Name, body: BufferBody) -> dict[str, Any]:
    """Set the passages that stay in view in a conversation."""
    _find_session(memory, session)
    spans = [(first, last) for first, last in body.spans]
    for first, last in spans:
        if not first <= last < first + MAX_PASSAGE_LINES:
            raise BadQuery(
                f"invalid span: got {first} to {last}, expected first <= last and at most {MAX_PASSAGE_LINES} lines"
            )
    idempotency.run_once(lambda: memory.store.set_buffer(memory.bank, session, spans), lambda _: True, lambda _: None)
    return buffer(memory, session)
