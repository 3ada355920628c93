"""The tools `search` and `fetch` in the shape that ChatGPT's connectors call; other clients don't see them."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from everthread.bank.line_window import read_window
from everthread.errors import NotFound
from everthread.mcp.banks import Banks, open_bank
from everthread.mcp.resources import SESSION_PREFIX
from everthread.mcp.shown_lines import select_shown
from everthread.mcp.tools import READS, ToolSpec
from everthread.text.formatting import format_lines
from everthread.types import Line

MAX_RESULTS = 10
SHOWN_LINES = 12  # around the fetched one
SEQ = re.compile(r"[0-9]{1,18}")  # a number that every store can compare with those of its lines
CLIENT_NAMES = ("openai", "chatgpt")  # parts of the names of its clients


def search(
    ctx: Context[Banks], query: Annotated[str, Field(min_length=1, max_length=2000, description="A question.")]
) -> CallToolResult:
    """Search what was said in earlier conversations: use BEFORE answering anything about the person."""
    hits = open_bank(ctx, None, "read").context(query).hits[:MAX_RESULTS]
    results = [
        {"id": str(hit.seq), "title": _build_title(hit.source.speaker, hit.text), "url": _build_url(hit.source.session)}
        for hit in hits
    ]
    return _as_json({"results": results})


def fetch(
    ctx: Context[Banks], id: Annotated[str, Field(description="The id of a result of `search`.")]
) -> CallToolResult:
    """Fetch a line that `search` found, with the lines around it."""
    memory = open_bank(ctx, None, "read")
    if not SEQ.fullmatch(id):
        raise NotFound(f"there is no line {id[:40]!r}; pass an id that search returned")
    lines = read_window(memory.store, memory.bank, int(id), SHOWN_LINES)
    position = next(position for position, line in enumerate(lines) if line.seq == int(id))
    return _as_json({"id": id, **_build_document(lines[position], select_shown(lines, position))})


def _build_document(line: Line, lines: list[Line]) -> dict[str, Any]:
    said_at = None if line.is_undated else line.said_at.isoformat()
    metadata = {"speaker": line.speaker, "session": line.session, "said_at": said_at}
    title = _build_title(line.speaker, line.text)
    return {"title": title, "text": format_lines(lines), "url": _build_url(line.session), "metadata": metadata}


def _build_title(speaker: str, text: str) -> str:
    words = " ".join(text.split())
    return f"{speaker}: {words[:80]}"


def _build_url(session: str) -> str:
    return SESSION_PREFIX + quote(session, safe="")


def _as_json(value: dict[str, Any]) -> CallToolResult:
    """Return a value as one text of JSON, as ChatGPT expects it."""
    return CallToolResult(content=[TextContent(text=json.dumps(value, ensure_ascii=False))], structured_content=value)


CHATGPT_TOOLS = {
    "search": ToolSpec(search, "Search", "read", READS),
    "fetch": ToolSpec(fetch, "Fetch", "read", READS),
}
