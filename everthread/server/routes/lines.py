"""Lines: keep, list, correct, retract, forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query

from everthread.bank.corrections import in_position_order
from everthread.bank.line_validation import clean_line, keepable
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.server.auth import Conversations, ForgetMemory, LazyMemory, ReadMemory, WriteLazyMemory, WriteMemory
from everthread.server.idempotency import Idempotency, IdempotentRequest, key_conflict
from everthread.server.metrics import Metrics, RequestMetrics
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, page, place
from everthread.server.request_body import AuthFirstRoute
from everthread.server.routes.receipts import forgotten
from everthread.server.schemas import ItemList, LineBody, LinesBody, LineView, Page, PathSeq, ReceiptView, TextBody
from everthread.stores.limits import LARGEST_SEQ
from everthread.stores.problems import unknown_parent
from everthread.types import Filter, Line, NewLine, Role, now

router = APIRouter(prefix="/banks/{bank}/lines", tags=["lines"], route_class=AuthFirstRoute)

Name = TypeVar("Name", bound=str)


@router.post("", status_code=201, response_model=LineView)
def observe(new: WriteLazyMemory, once: Idempotency, counted: RequestMetrics, body: LineBody) -> Line:
    """Keep one line. It is on the disk when this answers."""
    return _kept(new, once, counted, [body.to_new_line()])[0]


@router.post("/batch", status_code=201, response_model=ItemList[LineView])
def observe_many(new: WriteLazyMemory, once: Idempotency, counted: RequestMetrics, body: LinesBody) -> dict[str, Any]:
    """Keep many lines, in their order. Those with keys that the bank knows are not kept twice."""
    return {"items": _kept(new, once, counted, [line.to_new_line() for line in body.lines])}


def _kept(new: LazyMemory, once: IdempotentRequest, counted: Metrics, lines: Sequence[NewLine]) -> list[Line]:
    """The lines as they are kept, once: each has a key, so that the store itself sees to it."""
    named = [replace(line, key=line.key or once.line_key(number)) for number, line in enumerate(lines)]

    def do() -> list[Line]:
        kept = new(lambda: _see(named)).observe_many(named)
        ours = [line for line, new in zip(kept, lines, strict=True) if new.key is None and once.name is not None]
        said = [new for new in lines if new.key is None and once.name is not None]
        if any(line.text != keepable(new.text)[0] for line, new in zip(ours, said, strict=True)):
            raise key_conflict()  # of a key whose record is gone
        counted.lines.inc(len(kept))
        return kept

    return once.run_once(do, _seqs, lambda seqs: _these(new.get_existing(), seqs), safe=True)


def _see(lines: Sequence[NewLine]) -> None:
    """See that these can be the first lines of a bank. Raises BadLine."""
    before: set[int | str | None] = set()
    for number, line in enumerate(lines, 1):
        cleaned = clean_line(line, now())
        if cleaned.parent is not None and cleaned.parent not in before:
            raise unknown_parent(cleaned.parent)
        before |= {number, cleaned.key}


def _seqs(lines: Sequence[Line]) -> list[int]:
    return [line.seq for line in lines]


def _these(memory: Memory, seqs: Sequence[int]) -> list[Line]:
    """Lines by their numbers, also retracted ones, as often and in the order that they are named."""
    found: dict[int, Line] = {}
    for line in memory.lines(after=min(seqs) - 1, limit=max(seqs) - min(seqs) + 1, retracted=True):
        if line.seq > max(seqs):
            break
        found[line.seq] = line
    if missing := [seq for seq in seqs if seq not in found]:
        raise NotFound(f"line {missing[0]}, which was kept under this Idempotency-Key, was forgotten")
    return [found[seq] for seq in seqs]


@router.get("", response_model=Page[LineView])
def lines(
    memory: ReadMemory,
    session: Annotated[list[str] | None, Query(description="Only of this session; may be given again.")] = None,
    speaker: Annotated[list[str] | None, Query(description="Only by this speaker; may be given again.")] = None,
    role: Annotated[list[Role] | None, Query(description="Only in this role; may be given again.")] = None,
    since: Annotated[datetime | None, Query(description="Said then or later, with an offset.")] = None,
    until: Annotated[datetime | None, Query(description="Said before.")] = None,
    retracted: Annotated[bool, Query(description="Retracted lines too.")] = False,
    around: Annotated[
        int | None, Query(ge=1, le=LARGEST_SEQ, description="Those about this line, of its session.")
    ] = None,
    after: After = None,
    limit: Limit = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """List what was said, in its order; or `limit` lines about one, within its session and without cursors."""
    if around is not None:
        return {"items": _around(memory, around, limit, retracted), "next": None}
    where = Filter(_any(session), _any(speaker), _any(role), since=since, until=until)
    behind = place(after, (int,)) or [0]
    found = memory.lines(where, after=behind[0], limit=limit + 1, retracted=retracted)
    return page(found, limit, lambda line: [line.seq])


def _any(given: list[Name] | None) -> tuple[Name, ...] | None:
    return None if given is None else tuple(given)


def _around(memory: Memory, seq: int, limit: int, retracted: bool) -> list[Line]:
    """The lines about one, which is in the middle as far as there are as many on either side."""
    middle = next(memory.lines(after=seq - 1, limit=1, retracted=True), None)
    if middle is None or middle.seq != seq:
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r}")
    every = list(memory.lines(Filter(session=middle.session), retracted=retracted))
    every = in_position_order(every if middle in every else sorted([*every, middle], key=lambda line: line.seq))
    at = every.index(middle)
    first = max(0, min(at - limit // 2, len(every) - limit))
    return every[first : first + limit]


@router.get("/{seq}", response_model=LineView)
def line(memory: ReadMemory, seq: PathSeq) -> Line:
    """One line that stands."""
    found = memory.store.get(memory.bank, [seq])
    if not found:
        raise NotFound(f"there is no line {seq} in bank {memory.bank!r}")
    return found[0]


@router.patch("/{seq}", response_model=LineView)
def correct(memory: WriteMemory, once: Idempotency, seq: PathSeq, body: TextBody) -> Line:
    """Put another text in a line's place. The old one is retracted; the new one has a number of its own, and the
    speaker, session and time of the old."""

    def do() -> list[Line]:
        made = memory.correct(seq, body.text, key=once.line_key())
        if made.text != keepable(body.text)[0]:
            raise key_conflict()
        return [made]

    return once.run_once(do, _seqs, lambda seqs: _these(memory, seqs), safe=True)[0]


@router.post("/{seq}/retract", response_model=LineView)
def retract(memory: WriteMemory, once: Idempotency, seq: PathSeq) -> Line:
    """Take a line out of recall for good. Its text stays in the record."""
    return once.run_once(lambda: memory.retract(seq), lambda line: line.seq, lambda kept: _these(memory, [kept])[0])


@router.delete("/{seq}", response_model=ReceiptView)
def forget(memory: ForgetMemory, once: Idempotency, conversations: Conversations, seq: PathSeq) -> ReceiptView:
    """Forget a line, for good, and with it what it said before it was corrected."""
    return forgotten(once, conversations, memory.bank, lambda: memory.forget(seq=seq))
