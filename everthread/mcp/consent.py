"""Asks the person before something is forgotten.

A client that can show a question is asked by the protocol (elicitation). One that can't gets a token with a description
of what would be deleted, and forgets when the tool is called again with that token. The token is a signature of exactly
the lines that would be deleted: if a line is added to the session in the meantime, another token is needed.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from mcp.server.mcpserver import Context, Elicit
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field

from everthread.errors import BadQuery, NotFound
from everthread.mcp.banks import Banks, open_bank
from everthread.memory import Memory
from everthread.stores.limits import MAX_SEQ
from everthread.text.dates import format_date
from everthread.types import Filter, Line

TOKEN_CHARS = 16
QUOTE_CHARS = 60


class Answer(BaseModel):
    """The form of the question: a client that shows no fields accepts or declines the question itself."""

    forget: bool = Field(default=True, title="Forget it for good", description="It can't be brought back.")


def ask(ctx: Context[Banks], seq: int | None, session: str | None, confirm: str | None, bank: str | None) -> object:
    """Return the question for the person, or the answer that a correct token implies.

    The question depends only on what is stored, so that it is the same each time that a client's answer is checked.

    Raises:
        BadInput: the arguments are invalid.
        NotFound: there is no such line or session.
    """
    memory = open_bank(ctx, bank, "forget")
    lines = find_lines(memory, seq, session)
    if can_ask(ctx):
        return Elicit(f"{describe(lines, session)[:1].upper()}{describe(lines, session)[1:]}?", Answer)
    token = make_token(ctx.request_context.lifespan_context.secret, memory, lines)
    return Answer(forget=hmac.compare_digest((confirm or "").encode(), token.encode()))


def can_ask(ctx: Context[Banks]) -> bool:
    """Return whether the client can show a form; an elicitation capability without a mode means forms."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or ctx.session.can_send_request


def find_lines(memory: Memory, seq: int | None, session: str | None) -> list[Line]:
    """Return the lines that would be forgotten.

    Raises:
        BadQuery: not exactly one of `seq` and `session` is given, or the number is out of range.
        NotFound: there is no such line or session.
    """
    if (seq is None) == (session is None):
        raise BadQuery(f"forget takes either seq or session, got seq={seq!r} and session={session!r}")
    if seq is None:
        if lines := list(memory.lines(Filter(session=session))):
            return lines
        raise NotFound(f"there is no session {session!r} with lines; `sessions` lists them")
    if not 1 <= seq <= MAX_SEQ:
        raise BadQuery(f"invalid seq: got {seq}, expected the number of a line, from 1")
    if lines := memory.store.get(memory.bank, [seq]):
        return lines
    raise NotFound(f"there is no line {seq}; `recall` and `conversation` show the numbers of lines")


def describe(lines: list[Line], session: str | None) -> str:
    """Describe an act of forgetting: "forget line 14, 'My sister …', of 2 June 2024 for good"."""
    if session is None:
        return f"forget line {lines[0].seq}, {_quote(lines[0].text)}, of {_format_day(lines[0])} for good"
    dated = [line for line in lines if not line.is_undated] or lines
    first, last = _format_day(dated[0]), _format_day(dated[-1])
    days = f"of {first}" if first == last else f"of {first} to {last}"
    count = "its one line" if len(lines) == 1 else f"its {len(lines)} lines"
    return f"forget the session {session!r} {days} with {count} for good"


def _format_day(line: Line) -> str:
    return "an unknown time" if line.is_undated else format_date(line.said_at)


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return f"'{words}'" if len(words) <= QUOTE_CHARS else f"'{words[:QUOTE_CHARS].rstrip()} …'"


def make_token(secret: bytes, memory: Memory, lines: list[Line]) -> str:
    """Sign the lines that would be forgotten."""
    subject = repr((memory.bank, [(line.seq, line.text) for line in lines]))
    return hmac.new(secret, subject.encode("utf-8", "replace"), sha256).hexdigest()[:TOKEN_CHARS]
