"""Reads the chats of Open WebUI: a list of `{"id": …, "chat": {"history": {"messages": {…}, "currentId": …}}}`.

The path up from `currentId` is shown. Several models may answer one message; the answers beside that path are branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.cuts import cut_blocks, cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_record,
    get_records,
    get_text,
    parse_epoch,
    require_record,
)
from everthread.transfer.services.trees import trace_path
from everthread.types import Metadata

PERSON = "user"
_DETAILS = {"reasoning": "thoughts", "tool_calls": "calls of tools", "code_interpreter": "calls of tools"}
_ITEMS = {"reasoning": "thoughts", "function_call": "calls of tools", "function_call_output": "results of tools"}
_MAX_EPOCH_S = 10**11  # a later time is in milliseconds


def recognises(export: Export) -> bool:
    """Return whether there are chats of Open WebUI."""
    return any(map(_has_chats, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in filter(_has_chats, export.files):
        values = file.items() if isinstance(file.head, list) else [file.load()]
        yield from build_all(
            ((f"chat {number} of {file.name}", value) for number, value in enumerate(values, 1)), build_chat
        )


def build_chat(value: object) -> Conversation:
    """Build the conversation of a chat.

    Raises:
        BadFile: it has no id, or no messages.
    """
    record = require_record(value, "id", "chat")
    chat = get_record(record, "chat")
    history = get_record(chat, "history", "messages")
    if not get_text(record, "id") or not (history or "messages" in chat or "history" in chat):
        raise BadFile("the chat has no messages" if get_text(record, "id") else "the chat has no id")
    skipped = Counter[str]()
    nodes = {name: node for name, node in history.items() if isinstance(node, dict)}
    parents = {name: get_text(node, "parentId") or None for name, node in nodes.items()}
    current = get_text(get_record(chat, "history"), "currentId")
    shown = trace_path(parents, current) if current in nodes else set(nodes)
    messages = [_build_message(name, node, parents[name], name in shown, skipped) for name, node in nodes.items()]
    if not nodes:
        rows = get_records(chat, "messages")
        messages = [_build_message(get_text(row, "id") or None, row, None, True, skipped) for row in rows]
    return Conversation(
        get_text(record, "id"),
        messages,
        get_text(record, "title") or get_text(chat, "title") or None,
        _parse_time(record.get("created_at")),
        skipped=+skipped,
        owner=PERSON,
    )


def _build_message(
    name: str | None, node: Record, parent: str | None, is_shown: bool, skipped: Counter[str]
) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    role = get_text(node, "role")
    text = _read_text(node, skipped) if role in ("user", "assistant") else ""
    if not text:
        skipped["instructions" if role == "system" else "messages without text"] += 1
    is_user = role == "user"
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else get_text(node, "modelName", "model") or "assistant",
        _parse_time(node.get("timestamp")),
        name,
        parent,
        is_shown,
        _read_metadata(node),
    )


def _read_text(node: Record, skipped: Counter[str]) -> str:
    """Return what was said, without thoughts and calls of tools, which are counted."""
    items = get_records(node, "output")
    if texts := ["".join(_read_parts(item)) for item in items if item.get("type") == "message"]:
        skipped += Counter(_ITEMS[kind] for item in items if (kind := get_text(item, "type")) in _ITEMS)
        return "\n\n".join(text.strip() for text in texts if text.strip())
    content = node.get("content")
    if isinstance(content, list):  # parts, as in chat APIs
        content = "\n".join(get_text(get_record(part), "text") for part in content)
    text = content if isinstance(content, str) else ""
    if node.get("role") == "user":
        return text if text.strip() else ""
    text, thoughts = cut_thoughts(text)
    for kind, plural in _DETAILS.items():
        text, count = cut_blocks(text, f'<details type="{kind}"', "</details>")
        skipped[plural] += count
    skipped["thoughts"] += thoughts
    return text if text.strip() else ""


def _read_parts(item: Record) -> Iterator[str]:
    for part in get_records(item, "content"):
        if part.get("type") == "output_text":
            yield get_text(part, "text")


def _read_metadata(node: Record) -> Metadata:
    metadata: dict[str, str | list[str]] = {}
    if model := get_text(node, "model"):
        metadata["model"] = model
    files = [
        get_text(file, "name") or get_text(get_record(file, "file"), "filename") for file in get_records(node, "files")
    ]
    if names := [name for name in files if name]:
        metadata["attachments"] = names
    return metadata


def _parse_time(value: object) -> datetime | None:
    """Return a time in seconds since 1970, or in milliseconds, which some versions wrote."""
    is_late = isinstance(value, int | float) and value > _MAX_EPOCH_S
    return parse_epoch(value, per_second=1000 if is_late else 1)


def _has_chats(file: ExportFile) -> bool:
    """Return whether a file is a chat or a list of chats."""
    return any(map(_is_chat, file.head if isinstance(file.head, list) else [file.head]))


def _is_chat(value: object) -> bool:
    chat = get_record(value, "chat")
    return "id" in get_record(value) and ("history" in chat or isinstance(chat.get("messages"), list))
