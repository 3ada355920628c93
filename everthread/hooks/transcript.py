"""Reads the end of a coding agent's transcript: the lines that the user and the assistant said.

Both formats are JSON Lines. Claude Code writes entries of type "user" and "assistant" with a uuid; results of tools,
side chains and texts that the program inserted are entries of type "user" as well. Codex writes entries of type
"event_msg" with a payload of type "item_completed", whose item is a "UserMessage" or an "AgentMessage" (version 0.169),
or of type "user_message" or "agent_message" (earlier ones). No format is documented; entries that have another shape
are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from everthread.types import NewLine, Role

MAX_READ_BYTES = 64_000_000  # from the end: a turn may contain many screenshots and other large results of tools
BLOCK_BYTES = 1_000_000  # read at a time
MAX_LINES = 100  # of more than one turn, so that a turn is stored even if an earlier hook failed
INSERTED_TAG = re.compile(r"<(/?)(system-reminder|ide_\w+)>")  # of texts that Claude Code inserts in what the user said
COMMAND_TEXT = re.compile(  # texts that Claude Code wrote and not the user: by their tags, or their beginnings
    r"\s*(<((?:command|local-command|bash|user-memory)-[a-z-]+|task-notification)>.*</\2>"
    r"|\[Request interrupted|\[SUGGESTION MODE:"
    r"|Your task is to create a detailed summary of the conversation so far|CRITICAL: Respond with TEXT ONLY"
    r"|This session is being continued from a previous conversation that ran out of context)",
    re.DOTALL,
)
SYNTHETIC = "<synthetic>"  # the model of replies that Claude Code wrote: of errors, or "No response requested."
TEXT_PARTS = ("text", "Text")  # the second in replies of Codex
CODEX_ITEM = "item_completed"
CODEX_ITEM_ROLES: dict[str, Role] = {"UserMessage": "user", "AgentMessage": "assistant"}
CODEX_ROLES: dict[str, Role] = {"user_message": "user", "agent_message": "assistant"}  # of older versions


def read_lines(file: Path, session: str) -> list[NewLine]:
    """Return the last lines of a transcript, the last turn at least, each with a key, so that storing them again adds
    nothing.

    Args:
        file: the transcript.
        session: the session of the lines.

    Raises:
        OSError: the file can't be read.
    """
    found: list[tuple[Mapping[str, Any], NewLine]] = []  # the last one first
    for entry in _read_entries(file):
        if (line := _parse_entry(entry)) is None:
            continue
        found.append((entry, line))
        if line.role == "user" and len(found) >= 2 * MAX_LINES:  # Codex may write each line in two ways
            break
    has_items = any(_codex_kind(entry) == CODEX_ITEM for entry, _ in found)
    lines = [line for entry, line in found if not (has_items and _codex_kind(entry) in CODEX_ROLES)]
    turn = next((number for number, line in enumerate(lines, 1) if line.role == "user"), 0)  # lines of the last one
    return [replace(line, session=session) for line in reversed(lines[: max(turn, MAX_LINES)])]


def _read_entries(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the entries in the last part of a file, the last one first; a row that is incomplete is skipped."""
    for row in _read_rows(file):
        try:
            entry = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _read_rows(file: Path) -> Iterator[bytes]:
    """Yield the rows in the last part of a file, the last one first; the first one of that part may be cut off."""
    with file.open("rb") as stream:
        end = stream.seek(0, 2)
        begin, parts = max(0, end - MAX_READ_BYTES), list[bytes]()  # of a row, the last part first
        while end > begin:
            size = min(BLOCK_BYTES, end - begin)
            end -= size
            stream.seek(end)
            first, *rows = stream.read(size).split(b"\n")
            if rows:
                yield b"".join([rows.pop(), *reversed(parts)])
                yield from reversed(rows)
                parts = []
            parts.append(first)
        yield b"".join(reversed(parts))


def _parse_entry(entry: Mapping[str, Any]) -> NewLine | None:
    """Return the line of an entry, or None if nothing was said in it."""
    said_at = _parse_time(entry.get("timestamp"))
    if said_at is None:
        return None
    if entry.get("type") == "event_msg":
        return _parse_codex(entry, said_at)
    if entry.get("type") in ("user", "assistant"):
        return _parse_claude(entry, said_at)
    return None


def _parse_claude(entry: Mapping[str, Any], said_at: datetime) -> NewLine | None:
    role: Role = "user" if entry["type"] == "user" else "assistant"
    if any(entry.get(flag) for flag in ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")):
        return None
    message, uuid = entry.get("message"), entry.get("uuid")
    if not isinstance(message, dict) or message.get("model") == SYNTHETIC:
        return None
    text = _join_texts(message.get("content"))
    if role == "user":
        text = extract_said(text)
    if not text.strip() or not isinstance(uuid, str):
        return None
    return NewLine(text, role, role, said_at, metadata={"via": "claude-code"}, key=_build_key("claude-code", uuid))


def extract_said(text: str) -> str:
    """Return what the user said in a text that Claude Code sends; empty if the program wrote it."""
    return "" if is_by_program(text) else remove_inserted(text).strip()


def is_by_program(text: str) -> bool:
    """Return whether Claude Code wrote a text in the user's name: a command's output, or a task for the model."""
    return COMMAND_TEXT.match(text) is not None


def remove_inserted(text: str) -> str:
    """Remove the texts that Claude Code inserted; one without its closing tag is left."""
    closings: dict[str, list[int]] = {}  # name -> the ends of its closing tags, the first last
    for tag in reversed(list(INSERTED_TAG.finditer(text))):
        if tag[1]:
            closings.setdefault(tag[2], []).append(tag.end())
    parts, end = [], 0
    for tag in INSERTED_TAG.finditer(text):
        if tag[1] or tag.start() < end:
            continue
        ends = closings.get(tag[2], [])
        while ends and ends[-1] <= tag.start():
            ends.pop()
        if ends:
            parts.append(text[end : tag.start()])
            end = ends[-1]
    return "".join([*parts, text[end:]])


def _join_texts(content: object) -> str:
    """Return the texts of a message; thoughts, calls of tools and their results are left out."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if part.get("type") in TEXT_PARTS]
    return "\n".join(text for text in texts if isinstance(text, str))


def _codex_kind(entry: Mapping[str, Any]) -> str:
    """Return the type of the payload of an event of Codex, or an empty text."""
    payload = entry.get("payload")
    return str(payload.get("type")) if entry.get("type") == "event_msg" and isinstance(payload, dict) else ""


def _parse_codex(entry: Mapping[str, Any], said_at: datetime) -> NewLine | None:
    kind = _codex_kind(entry)
    role, text = _read_item(entry["payload"].get("item")) if kind == CODEX_ITEM else _read_message(entry, kind)
    if role is None or not isinstance(text, str) or not text.strip():
        return None
    key = _build_key("codex", f"{entry['timestamp']}\x1f{kind}\x1f{text}")
    return NewLine(text, role, role, said_at, metadata={"via": "codex"}, key=key)


def _read_item(item: object) -> tuple[Role | None, object]:
    if not isinstance(item, dict):
        return None, None
    return CODEX_ITEM_ROLES.get(str(item.get("type"))), _join_texts(item.get("content"))


def _read_message(entry: Mapping[str, Any], kind: str) -> tuple[Role | None, object]:
    return (CODEX_ROLES[kind], entry["payload"].get("message")) if kind in CODEX_ROLES else (None, None)


def _parse_time(value: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo else None


def _build_key(source: str, identity: str) -> str:
    return f"{source}:{sha256(identity.encode('utf-8', 'replace')).hexdigest()[:32]}"
