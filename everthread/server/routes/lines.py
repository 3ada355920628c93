"""Lines: store, list, correct, retract, forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request

from everthread.bank.line_keys import check_source_key
from everthread.bank.line_validation import clean_line, replace_unstorable
from everthread.bank.line_window import read_window
from everthread.chat.character_banks import person_names
from everthread.chat.prompt_record import ReplyPrompt, read_prompt
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.server.idempotency import Idempotency, IdempotentRequest, key_conflict
from everthread.server.metrics import Metrics, RequestMetrics
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import (
    Conversations,
    ForgetMemory,
    LazyMemory,
    ReadMemory,
    WriteLazyMemory,
    WriteMemory,
    permitted_banks,
)
from everthread.server.recall_schemas import EvidenceView
from everthread.server.routes.api_router import create_router
from everthread.server.routes.receipts import forget_once
from everthread.server.schemas import (
    ForgetLinesBody,
    ItemList,
    LinesBody,
    LineTextBody,
    LineView,
    ObserveBody,
    Page,
    PathSeq,
    ReceiptView,
    ReplyPromptView,
    build_lines,
)
from everthread.stores.conditions import parse_condition_text
from everthread.stores.errors import unknown_parent_error
from everthread.stores.limits import MAX_SEQ
from everthread.types import Evidence, Filter, Line, NewLine, Role, now

router = create_router("lines", "/banks/{bank}/lines")

Name = TypeVar("Name", bound=str)


@router.post("", status_code=201, response_model=LineView)
def observe(lazy_memory: WriteLazyMemory, idempotency: Idempotency, metrics: RequestMetrics, body: ObserveBody) -> Line:
    """Store one line. It is on disk when this returns."""
    if body.replace:
        return _replace_once(lazy_memory, idempotency, metrics, [body.to_new_line()])[0]
    return _store_once(lazy_memory, idempotency, metrics, [body.to_new_line()])[0]


def _replace_once(
    lazy_memory: LazyMemory, idempotency: IdempotentRequest, metrics: Metrics, lines: Sequence[NewLine]
) -> list[Line]:
    """Store lines in place of the lines with their keys, once."""

    def check() -> None:
        for line in lines:
            check_source_key(line)
        _check_lines(lines)

    def store() -> list[Line]:
        stored = lazy_memory(check).observe_many(lines, replace=True)
        metrics.lines.inc(len(stored))
        return stored

    return idempotency.run_once(store, _list_seqs, lambda seqs: _get_lines(lazy_memory.get_existing(), seqs))


@router.post("/batch", status_code=201, response_model=ItemList[LineView])
def observe_many(
    lazy_memory: WriteLazyMemory, idempotency: Idempotency, metrics: RequestMetrics, body: LinesBody
) -> dict[str, Any]:
    """Store several lines in order. Lines with keys that the bank knows are not stored again, unless they replace
    these."""
    store = _replace_once if body.replace else _store_once
    return {"items": store(lazy_memory, idempotency, metrics, [line.to_new_line() for line in body.lines])}


def _store_once(
    lazy_memory: LazyMemory, idempotency: IdempotentRequest, metrics: Metrics, lines: Sequence[NewLine]
) -> list[Line]:
    """Store lines once: each has a key, so that the store itself prevents copies."""
    keyed = [replace(line, key=line.key or idempotency.line_key(number)) for number, line in enumerate(lines)]

    def store() -> list[Line]:
        stored = lazy_memory(lambda: _check_lines(keyed)).observe_many(keyed)
        if idempotency.name is not None and any(
            given.key is None and line.text != replace_unstorable(given.text)[0]
            for line, given in zip(stored, lines, strict=True)
        ):
            raise key_conflict()  # the record of the other request was deleted
        metrics.lines.inc(len(stored))
        return stored

    return idempotency.run_once(store, _list_seqs, lambda seqs: _get_lines(lazy_memory.get_existing(), seqs), safe=True)


def _check_lines(lines: Sequence[NewLine]) -> None:
    """Check that these can be the first lines of a bank. Raises BadLine."""
    before: set[int | str | None] = set()
    for number, line in enumerate(lines, 1):
        cleaned = clean_line(line, now())
        if cleaned.parent is not None and cleaned.parent not in before:
            raise unknown_parent_error(cleaned.parent)
        before |= {number, cleaned.key}


def _list_seqs(lines: Sequence[Line]) -> list[int]:
    return [line.seq for line in lines]


def _get_lines(memory: Memory, seqs: Sequence[int]) -> list[Line]:
    """Return lines by their numbers, in this order, including retracted ones."""
    by_seq: dict[int, Line] = {}
    limit = max(seqs) - min(seqs) + 1
    for line in memory.lines(after=min(seqs) - 1, limit=limit, include_retracted=True, include_wordless=True):
        if line.seq > max(seqs):
            break
        by_seq[line.seq] = line
    if missing := [seq for seq in seqs if seq not in by_seq]:
        raise NotFound(f"line {missing[0]}, which was stored under this Idempotency-Key, was forgotten")
    return [by_seq[seq] for seq in seqs]


@router.get("", response_model=Page[LineView])
def lines(
    memory: ReadMemory,
    session: Annotated[list[str] | None, Query(description="Only of this session; repeatable.")] = None,
    speaker: Annotated[list[str] | None, Query(description="Only by this speaker; repeatable.")] = None,
    role: Annotated[list[Role] | None, Query(description="Only in this role; repeatable.")] = None,
    since: Annotated[datetime | None, Query(description="Said at this time or later, with an offset.")] = None,
    until: Annotated[datetime | None, Query(description="Said before this time, with an offset.")] = None,
    condition: Annotated[str | None, Query(description="A condition in JSON, as in `where` of a recall.")] = None,
    key_prefix: Annotated[str | None, Query(description="Only lines whose key begins with this.")] = None,
    retracted: Annotated[bool, Query(description="Include retracted lines.")] = False,
    wordless: Annotated[bool, Query(description="Include lines without words, such as tool calls.")] = False,
    key: Annotated[str | None, Query(description="Only the line with this key.")] = None,
    around: Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="Lines around this one, of its session.")] = None,
    after_seq: Annotated[int, Query(ge=0, le=MAX_SEQ, description="Only lines with greater numbers.")] = 0,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List lines in order; or the line with a key; or `limit` lines around one, within its session and without
    cursors."""
    if key is not None:
        line = memory.get(key=key)
        return {"items": [] if line is None else [line], "next": None}
    if around is not None:
        near = read_window(memory.store, memory.bank, around, limit, include_retracted=retracted)
        return {"items": _with_answers(memory, near), "next": None}
    where = Filter(
        _as_tuple(session),
        _as_tuple(speaker),
        _as_tuple(role),
        since=since,
        until=until,
        condition=None if condition is None else parse_condition_text(condition),
        key_prefix=key_prefix,
    )
    previous = decode_cursor(after, (int,)) or [0]
    following = memory.lines(
        where,
        after=max(after_seq, previous[0]),
        limit=limit + 1,
        include_retracted=retracted,
        include_wordless=wordless,
    )
    page = build_page(following, limit, lambda line: [line.seq])
    return {**page, "items": _with_answers(memory, page["items"])}


def _with_answers(memory: Memory, lines: Sequence[Line]) -> list[LineView]:
    return build_lines(memory, lines, person_names(memory.settings()))


def _as_tuple(given: list[Name] | None) -> tuple[Name, ...] | None:
    return None if given is None else tuple(given)


@router.get("/{seq}", response_model=LineView)
def line(memory: ReadMemory, seq: PathSeq) -> Line:
    """Get an active line."""
    line = memory.get(seq)
    if line is None:
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r}")
    return line


@router.get("/{seq}/evidence", response_model=EvidenceView)
def evidence(request: Request, memory: ReadMemory, seq: PathSeq) -> Evidence:
    """Get the memories that a reply was given, as they were then."""
    return _read_evidence(request, memory, seq)


@router.get("/{seq}/prompt", response_model=ReplyPromptView)
def prompt(request: Request, memory: ReadMemory, seq: PathSeq) -> ReplyPrompt:
    """Get the prompt of a reply, part by part, as far as its texts are stored."""
    return read_prompt(memory, _read_evidence(request, memory, seq))


def _read_evidence(request: Request, memory: Memory, seq: int) -> Evidence:
    """Return the evidence of a reply, without the lines of banks that the key may not read."""
    evidence = memory.evidence(seq)
    readable = permitted_banks(request, "read", evidence.shared)
    return replace(evidence, shared={bank: evidence.shared[bank] for bank in readable})


@router.patch("/{seq}", response_model=LineView)
def correct(memory: WriteMemory, idempotency: Idempotency, seq: PathSeq, body: LineTextBody) -> Line:
    """Replace the text of a line. The old line is retracted; the new one has its own number, and the speaker, session
    and time of the old one."""

    def replace_text() -> list[Line]:
        corrected = memory.correct(seq, body.text, key=idempotency.line_key())
        if corrected.text != replace_unstorable(body.text)[0]:
            raise key_conflict()
        return [corrected]

    return idempotency.run_once(replace_text, _list_seqs, lambda seqs: _get_lines(memory, seqs), safe=True)[0]


@router.post("/{seq}/retract", response_model=LineView)
def retract(memory: WriteMemory, idempotency: Idempotency, seq: PathSeq) -> Line:
    """Exclude a line from recall for good. Its text remains in the record."""
    return idempotency.run_once(
        lambda: memory.retract(seq), lambda line: line.seq, lambda number: _get_lines(memory, [number])[0]
    )


@router.post("/{seq}/restore", response_model=ItemList[LineView])
def restore(memory: WriteMemory, idempotency: Idempotency, seq: PathSeq) -> dict[str, Any]:
    """Continue a session from a line, current or retracted. Returns the copies that were stored: of the line, if it was
    retracted, and of the lines that led to it."""
    copies = idempotency.run_once(
        lambda: memory.restore(seq), _list_seqs, lambda seqs: _get_lines(memory, seqs) if seqs else []
    )
    return {"items": copies}


@router.post("/forget", response_model=ReceiptView)
def forget_lines(
    memory: ForgetMemory, idempotency: Idempotency, conversations: Conversations, body: ForgetLinesBody
) -> ReceiptView:
    """Forget lines for good, each with its earlier versions: those with these numbers, or those of a speaker. An import
    is undone with the `seqs` of its result."""
    seqs = body.list_seqs()
    return forget_once(idempotency, conversations, memory.bank, lambda: memory.forget(seq=seqs, speaker=body.speaker))


@router.delete("/{seq}", response_model=ReceiptView)
def forget(memory: ForgetMemory, idempotency: Idempotency, conversations: Conversations, seq: PathSeq) -> ReceiptView:
    """Forget a line for good, with its earlier versions."""
    return forget_once(idempotency, conversations, memory.bank, lambda: memory.forget(seq=seq))
