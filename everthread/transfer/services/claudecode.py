"""Reads sessions of Claude Code: a file of JSON Lines for each, in a folder for each project in `~/.claude/projects`.

A row follows the row with the id in `parentUuid`. After the user goes back, two rows follow the same one; the path to
the last row is shown. Results of tools, reminders and commands come as messages of the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from everthread.transfer.services.agent_sessions import read_sessions
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text, parse_iso
from everthread.transfer.services.trees import trace_path

NAME, PERSON = "Claude", "user"
_KINDS = ("user", "assistant")
_BLOCKS = {"thinking": "thoughts", "redacted_thinking": "thoughts", "tool_use": "calls of tools", "image": "pictures"}
_NOTICES = (  # types of rows with which a file may begin
    *("file-history-snapshot", "queue-operation", "permission-mode", "custom-title", "ai-title", "agent-name"),
    "last-prompt",
)
_COMMANDS = (  # with which a message of the user begins that the program wrote
    *("<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>"),
    *("<system-reminder>", "<task-notification>", "Caveat: The messages below", "[Request interrupted by user"),
)
_CONTEXT = ("<system-reminder>", "<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>")  # begins a part


def recognises(export: Export) -> bool:
    """Return whether there is a session of Claude Code."""
    return any(map(_is_session, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Read the sessions."""
    return read_sessions(filter(_is_session, export.files), options, _drop_results, build_session)


def _drop_results(value: object) -> object:
    """Return a row without the inputs and results of tools, which may be most of a session's bytes."""
    if not isinstance(value, dict):
        return value
    message = get_record(value, "message")
    blocks = get_list(message, "content")
    slim = [
        {"type": kind} if (kind := get_text(get_record(block), "type")) not in ("", "text") else block
        for block in blocks
    ]
    row = {name: field for name, field in value.items() if name != "toolUseResult"}
    return {**row, "message": {**message, "content": slim}} if slim else row


def build_session(name: str, rows: Sequence[object]) -> Conversation:
    """Build the conversation of a session.

    Args:
        name: the name of its file, which is the session's id.
        rows: the values of its rows, and for a row that is not JSON a BadFile.
    """
    skipped = Counter({"broken lines": sum(not isinstance(row, dict) for row in rows)})
    records = [row for row in rows if isinstance(row, dict)]
    nodes = [row for row in records if get_text(row, "uuid")]
    parents: dict[str, str | None] = {}
    last: str | None = None
    for row in nodes:
        node, parent = get_text(row, "uuid"), get_text(row, "parentUuid", "logicalParentUuid") or last
        parents[node] = parent if parent != node else None
        last = last if row.get("isSidechain") is True else node
    shown = trace_path(parents, last)
    messages = [_build_message(row, parents, shown, skipped) for row in nodes]
    first: Record = next((row for row in nodes if get_text(row, "cwd")), {})
    metadata = {"folder": get_text(first, "cwd")} if first else {}
    session = next((text for row in nodes if (text := get_text(row, "sessionId"))), name)
    return Conversation(
        session, messages, _find_title(records), None, metadata, +skipped, owner=PERSON, assistant=NAME, namespace=""
    )


def _build_message(row: Record, parents: dict[str, str | None], shown: set[str], skipped: Counter[str]) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    kind, node = get_text(row, "type"), get_text(row, "uuid")
    reason, text = _find_reason(row), ""
    if not reason:
        text = "\n\n".join(_read_blocks(row, skipped)).strip()
        if kind == "user" and text.startswith(_COMMANDS):
            reason, text = "commands", ""
    if reason:
        skipped[reason] += 1
    is_user = kind == "user"
    model = get_text(get_record(row, "message"), "model")
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else NAME,
        parse_iso(row.get("timestamp")),
        node,
        parents[node],
        node in shown,
        {"model": model} if model else {},
    )


def _find_reason(row: Record) -> str:
    """Return the kind of a row that was not said, in the plural; "" for one that was, and for what is not counted."""
    if row.get("isSidechain") is True:
        return "messages of subagents"
    if row.get("type") not in _KINDS:
        return "notices"
    if row.get("isCompactSummary") is True:
        return "summaries"
    if row.get("isMeta") is True or row.get("isApiErrorMessage") is True:
        return "hidden messages" if row.get("isMeta") else "errors"
    content = get_list(get_record(row, "message"), "content")
    if any(get_record(block).get("type") == "tool_result" for block in content):
        return "results of tools"
    return ""


def _read_blocks(row: Record, skipped: Counter[str]) -> Iterator[str]:
    """Yield the texts of the blocks of a message, and count the other blocks."""
    message = get_record(row, "message")
    if text := get_text(message, "content"):
        yield text
    for block in get_list(message, "content"):
        kind = get_text(get_record(block), "type")
        if kind == "text":
            text = get_text(get_record(block), "text")
            if not text.startswith(_CONTEXT):
                yield text
        elif kind in _BLOCKS:
            skipped[_BLOCKS[kind]] += 1


def _find_title(rows: Sequence[Record]) -> str | None:
    """Return the title that the user gave, or else the newest one of the program."""
    for name in ("customTitle", "aiTitle", "summary"):
        titles = [text for row in rows if "uuid" not in row and (text := get_text(row, name))]
        if titles:
            return titles[-1]
    return None


def _is_session(file: ExportFile) -> bool:
    """Return whether the first row is one of Claude Code: a message, a title, or a notice that comes before them."""
    row = get_record(file.head)
    is_message = {"uuid", "sessionId", "isSidechain"} <= row.keys()
    return (is_message or {"type", "leafUuid"} <= row.keys() or row.get("type") in _NOTICES) and file.has_rows
