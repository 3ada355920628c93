"""Reads a conversation of LibreChat, as its menu "Export" writes it in JSON: with the messages in `messagesTree`, or as
a list in `messages`. Of several messages that follow one, LibreChat shows the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from everthread.errors import BadFile
from everthread.transfer.files import file_error
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.deep_json import parse_deep_json
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso, require_record
from everthread.transfer.services.trees import trace_path
from everthread.types import Metadata

PERSON = "user"
_ROOT = "00000000-0000-0000-0000-000000000000"
_PARTS = {"think": "thoughts", "tool_call": "calls of tools", "image_file": "pictures", "error": "errors"}


def recognises(export: Export) -> bool:
    """Return whether there is a conversation of LibreChat."""
    return any(map(_is_conversation, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations, one a file."""
    for file in filter(_is_conversation, export.files):
        yield from build_all([(file.name, _load(file))], build_conversation)


def build_conversation(value: object) -> Conversation:
    """Build a conversation from its JSON.

    Raises:
        BadFile: it has no id, or no messages.
    """
    record = require_record(value, "conversationId")
    conversation_id = get_text(record, "conversationId")
    rows = list(_flatten(get_records(record, "messagesTree") or get_records(record, "messages")))
    if not conversation_id or not (rows or "messages" in record or "messagesTree" in record):
        raise BadFile("it has no messages" if conversation_id else "it has no id")
    skipped = Counter[str]()
    parents = {get_text(row, "messageId"): _find_parent(row) for row in rows}
    shown = trace_path(parents, _find_last_leaf(rows, parents))
    messages = [_build_message(row, get_text(row, "messageId") in shown, skipped) for row in rows]
    return Conversation(conversation_id, messages, get_text(record, "title") or None, skipped=+skipped, owner=PERSON)


def _load(file: ExportFile) -> object:
    """Return the JSON of a file, whose tree is as deep as the conversation is long.

    Raises:
        BadFile: it is not JSON.
    """
    try:
        return parse_deep_json(file.read_text())
    except ValueError as error:
        where = "" if file.name == file.path.name else file.name
        raise file_error(file.path, where, f"not JSON ({error})", "export it again") from None


def _flatten(tree: Sequence[Record]) -> Iterator[Record]:
    """Yield the messages of a tree, each before its children. Without recursion: trees are as deep as they are long."""
    stack = list(reversed(tree))
    while stack:
        row = stack.pop()
        yield row
        stack += reversed(get_records(row, "children"))


def _find_last_leaf(rows: Sequence[Record], parents: Mapping[str, str | None]) -> str | None:
    """Return the message at which one arrives from the last first message by the last of those that follow each."""
    last_child: dict[str | None, str] = {}
    for row in rows:
        parent = _find_parent(row)
        last_child[parent if parent in parents else None] = get_text(row, "messageId")
    leaf, seen = last_child.get(None), set[str]()
    while leaf is not None and leaf in last_child and leaf not in seen:
        seen.add(leaf)
        leaf = last_child[leaf]
    return leaf


def _find_parent(row: Record) -> str | None:
    parent = get_text(row, "parentMessageId")
    return None if parent in ("", _ROOT) else parent


def _build_message(row: Record, is_shown: bool, skipped: Counter[str]) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    is_user = row.get("isCreatedByUser") is True
    text = get_text(row, "text") or "\n".join(_read_parts(row, skipped))
    text, thoughts = (text, 0) if is_user else cut_thoughts(text)
    skipped["thoughts"] += thoughts
    if row.get("error") is True:
        text = ""
        skipped["errors"] += 1
    elif not text.strip():
        skipped["messages without text"] += 1
    return Message(
        text.strip(),
        "user" if is_user else "assistant",
        PERSON if is_user else get_text(row, "sender", "model") or "assistant",
        parse_iso(row.get("createdAt")),
        get_text(row, "messageId") or None,
        _find_parent(row),
        is_shown,
        _read_metadata(row),
    )


def _read_parts(row: Record, skipped: Counter[str]) -> Iterator[str]:
    """Yield the texts of the parts, and count the other parts."""
    for part in get_records(row, "content"):
        kind = get_text(part, "type")
        if kind == "text":
            yield get_text(part, "text") or get_text(get_record(part, "text"), "value")
        elif kind in _PARTS:
            skipped[_PARTS[kind]] += 1


def _read_metadata(row: Record) -> Metadata:
    metadata: dict[str, str | list[str]] = {}
    if model := get_text(row, "model"):
        metadata["model"] = model
    files = [get_text(file, "filename") for file in (*get_records(row, "files"), *get_records(row, "attachments"))]
    if names := [name for name in files if name]:
        metadata["attachments"] = names
    return metadata


def _is_conversation(file: ExportFile) -> bool:
    head = get_record(file.head)
    if "conversationId" not in head:
        return False
    first = next(iter([*get_records(head, "messagesTree"), *get_records(head, "messages")]), None)
    return "messagesTree" in head or (first is not None and "messageId" in first) or head.get("messages") == []
