"""The resources of a bank: texts that a host can show or attach. They belong to the caller's default bank."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import unquote

from mcp.server.mcpserver import Context
from mcp_types import Resource, ResourceTemplate

from everthread.errors import NotFound
from everthread.mcp.banks import Banks, open_bank
from everthread.mcp.shown_lines import MAX_TOKENS, cut_text, select_shown
from everthread.mcp.views import ReceiptView
from everthread.memory import Memory
from everthread.text.formatting import format_lines
from everthread.types import Filter, Line, now

SCHEME = "everthread://"
SESSION_PREFIX = f"{SCHEME}session/"
RECEIPT_PREFIX = f"{SCHEME}receipt/"
TODAY = timedelta(days=1)
MAX_RANGES = 1000  # of lines in a receipt: about as many tokens as other texts may have
LEFT_OUT = "[Earlier lines are left out, because the text would be too long: use the tool `conversation`.]\n\n"

RESOURCES = (
    Resource(
        uri=f"{SCHEME}notes", name="notes", title="Notes", description="The current notes.", mime_type="text/plain"
    ),
    Resource(
        uri=f"{SCHEME}today",
        name="today",
        title="Today",
        description="The conversations of the last 24 hours.",
        mime_type="text/plain",
    ),
)
TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{SESSION_PREFIX}{{name}}",
        name="session",
        title="Session",
        description="A conversation, with dates; `sessions` lists the names.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        uri_template=f"{RECEIPT_PREFIX}{{n}}",
        name="receipt",
        title="Receipt",
        description=f"Proof of what was forgotten, without any text; `forget` returns the number. It has at most "
        f"{MAX_RANGES:,} ranges of lines; all are stored with the bank, in receipts.jsonl or the table `receipt`.",
        mime_type="text/plain",
    ),
)


def read(ctx: Context[Banks], uri: str) -> str:
    """Return the text of a resource.

    Raises:
        BadInput: the caller may not read the bank.
        NotFound: there is no such resource, bank or session.
    """
    memory = open_bank(ctx, None, "read")
    if uri == f"{SCHEME}notes":
        return cut_text("\n\n".join(unit.text for unit in memory.units("note", only_current=True)), MAX_TOKENS)
    if uri == f"{SCHEME}today":
        return _read_today(memory)
    if uri.startswith(SESSION_PREFIX):
        name = unquote(uri.removeprefix(SESSION_PREFIX))
        if lines := list(memory.lines(Filter(session=name))):
            return _format_latest(lines)
        raise NotFound(f"there is no session {name!r} with lines")
    if uri.startswith(RECEIPT_PREFIX):
        return _read_receipt(memory, uri.removeprefix(RECEIPT_PREFIX))
    raise NotFound(f"there is no resource {uri!r}")


def _read_receipt(memory: Memory, number: str) -> str:
    receipts = memory.store.receipts(memory.bank)
    if not (number.isascii() and number.isdecimal() and 1 <= int(number[:10]) <= len(receipts)):
        raise NotFound(f"there is no receipt {number[:40]!r}; the bank has {len(receipts)}")
    return ReceiptView.of(receipts[int(number) - 1], MAX_RANGES).model_dump_json()


def _read_today(memory: Memory) -> str:
    return _format_latest(list(memory.lines(Filter(since=now() - TODAY))))


def _format_latest(lines: Sequence[Line]) -> str:
    """Format as many of the latest lines as a text can have, after a note if there are others."""
    shown = select_shown(lines, len(lines) - 1) if lines else []
    return (LEFT_OUT if len(shown) < len(lines) else "") + format_lines(shown)
