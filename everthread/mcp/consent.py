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

from everthread.bank import deletion
from everthread.errors import BadQuery, NotFound
from everthread.mcp.banks import Banks, open_bank
from everthread.memory import Memory
from everthread.stores.limits import MAX_SEQ
from everthread.text.dates import format_date
from everthread.types import Line

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
        question = describe(lines, seq)
        return Elicit(f"{question[:1].upper()}{question[1:]}?", Answer)
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
    """Return the lines that would be forgotten, retracted ones and other versions included.

    Raises:
        BadQuery: not exactly one of `seq` and `session` is given, or the number is out of range.
        NotFound: there is no such line or session.
    """
    if (seq is None) == (session is None):
        raise BadQuery(f"forget takes either seq or session, got seq={seq!r} and session={session!r}")
    if seq is not None and not 1 <= seq <= MAX_SEQ:
        raise BadQuery(f"invalid seq: got {seq}, expected the number of a line, from 1")
    scope, name = deletion.parse_scope(memory.bank, seq, session, None, False)
    lines = deletion.find_lines(memory.store, memory.bank, scope, name)
    if any(_is_named(line, seq) for line in lines):
        return lines
    if seq is None:
        raise NotFound(f"there is no session {session!r} with lines; `sessions` lists them")
    raise NotFound(f"there is no line {seq}; `recall` and `conversation` show the numbers of lines")


def _is_named(line: Line, seq: int | None) -> bool:
    """Return whether a line that would be forgotten is the one that was asked for, or a visible one of the session."""
    return line.retracted_at is None and seq in (None, line.seq)


def describe(lines: list[Line], seq: int | None) -> str:
    """Describe an act of forgetting: "forget line 14, 'My sister …', of 2 June 2024 for good".

    Args:
        lines: what `find_lines` returned.
        seq: the number of the line to forget; None: a session is.
    """
    named = [line for line in lines if _is_named(line, seq)]
    dated = [line for line in named if not line.is_undated] or named
    first, last = _format_day(dated[0]), _format_day(dated[-1])
    days = f"of {first}" if first == last else f"of {first} to {last}"
    others = len(lines) - len(named)
    if seq is not None:
        versions = f", with its {'other version' if others == 1 else f'{others} other versions'}," if others else ""
        return f"forget line {seq}, {_quote(named[0].text)}, {days}{versions} for good"
    count = "its one line" if len(named) == 1 else f"its {len(named)} lines"
    hidden = f", and {others} hidden or replaced," if others else ""
    return f"forget the session {named[0].session!r} {days} with {count}{hidden} for good"


def _format_day(line: Line) -> str:
    return "an unknown time" if line.is_undated else format_date(line.said_at)


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return f"'{words}'" if len(words) <= QUOTE_CHARS else f"'{words[:QUOTE_CHARS].rstrip()} …'"


def make_token(secret: bytes, memory: Memory, lines: list[Line]) -> str:
    """Sign the lines that would be forgotten."""
    subject = repr((memory.bank, [(line.seq, line.text) for line in lines]))
    return hmac.new(secret, subject.encode("utf-8", "replace"), sha256).hexdigest()[:TOKEN_CHARS]
