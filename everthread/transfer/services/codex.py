"""Reads sessions of Codex: a file of JSON Lines for each, `rollout-….jsonl` in `~/.codex/sessions`.

The context that the program adds comes as messages of the user. Recent files also note each message that the user typed
as an event, which is read instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from everthread.transfer.services.agent_sessions import read_sessions
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso

NAME, PERSON = "Codex", "user"
_ITEMS = {
    "reasoning": "thoughts",
    "function_call": "calls of tools",
    "custom_tool_call": "calls of tools",
    "local_shell_call": "calls of tools",
    "web_search_call": "calls of tools",
    "function_call_output": "results of tools",
    "custom_tool_call_output": "results of tools",
}
_CONTEXT = (  # with which a message begins that the program wrote
    *("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "<skill>", "<INSTRUCTIONS>"),
    *("# AGENTS.md instructions", "<collaboration_mode>", "<app-context>", "<subagent_notification>"),
)


def recognises(export: Export) -> bool:
    """Return whether there is a session of Codex."""
    return any(map(_is_session, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Read the sessions."""
    return read_sessions(filter(_is_session, export.files), options, _drop_results, build_session)


def _drop_results(value: object) -> object:
    """Return a row without the inputs and results of tools, which may be most of a session's bytes."""
    kind = get_text(_open_row(value), "type") if isinstance(value, dict) else ""
    return {"type": get_text(get_record(value), "type"), "payload": {"type": kind}} if kind in _ITEMS else value


def build_session(name: str, rows: Sequence[object]) -> Conversation:
    """Build the conversation of a session.

    Args:
        name: the name of its file.
        rows: the values of its rows, and for a row that is not JSON a BadFile.
    """
    skipped = Counter({"broken lines": sum(not isinstance(row, dict) for row in rows)})
    records = [row for row in rows if isinstance(row, dict)]
    has_events = any(_is_typed(row) for row in records)
    messages = [message for row in records if (message := _build_message(row, has_events, skipped)) is not None]
    header = next(
        (_open_row(row) for row in records if row.get("type") == "session_meta"), records[0] if records else {}
    )
    folder = get_text(header, "cwd")
    return Conversation(
        get_text(header, "id") or name,
        messages,
        None,
        parse_iso(header.get("timestamp")),
        {"folder": folder} if folder else {},
        +skipped,
        owner=PERSON,
        assistant=NAME,
    )


def _build_message(row: Record, has_events: bool, skipped: Counter[str]) -> Message | None:
    """Return the message of a row; None, and counted, if nothing was said."""
    item = _open_row(row)
    kind, said_at = get_text(item, "type"), parse_iso(row.get("timestamp"))
    if _is_typed(row):
        return Message(get_text(item, "message"), "user", PERSON, said_at)
    if row.get("type") == "event_msg":
        return None
    if kind in _ITEMS:
        skipped[_ITEMS[kind]] += 1
    if kind != "message":
        return None
    text = "\n\n".join(get_text(part, "text") for part in get_records(item, "content")).strip()
    role = get_text(item, "role")
    if role == "user" and has_events:
        return None
    if role not in ("user", "assistant") or not text or (role == "user" and text.startswith(_CONTEXT)):
        skipped["instructions"] += 1
        return None
    is_user = role == "user"
    return Message(text, "user" if is_user else "assistant", PERSON if is_user else NAME, said_at)


def _open_row(row: Record) -> Record:
    """Return the item in a row. The first versions wrote the item itself."""
    return get_record(row, "payload") or row


def _is_typed(row: Record) -> bool:
    """Return whether a row is the event that the user sent a message."""
    item = get_record(row, "payload")
    return row.get("type") == "event_msg" and item.get("type") == "user_message" and bool(get_text(item, "message"))


def _is_session(file: ExportFile) -> bool:
    row = get_record(file.head)
    is_first = {"id", "timestamp", "instructions"} <= row.keys()  # of the first versions
    return is_first or (row.get("type") == "session_meta" and "id" in get_record(row, "payload"))
