"""Reads the chats of Open WebUI: a list of `{"id": …, "chat": {"history": {"messages": {…}, "currentId": …}}}`.

The path up from `currentId` is shown. Several models may answer one message; the answers beside that path are branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from everthread.errors import BadFile
from everthread.transfer.services.conversation import (
    ATTACHMENT_TEXTS,
    Conversation,
    Entry,
    Message,
    ReadOptions,
    build_all,
)
from everthread.transfer.services.cuts import cut_blocks, cut_thoughts
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_record,
    get_records,
    get_text,
    parse_recent_epoch,
    require_record,
)
from everthread.transfer.services.trees import trace_path
from everthread.types import JSONValue, Metadata

PERSON = "user"
_DETAILS = {"reasoning": "thoughts", "tool_calls": "calls of tools", "code_interpreter": "calls of tools"}
_ITEMS = {"reasoning": "thoughts", "function_call": "calls of tools", "function_call_output": "results of tools"}


def recognises(export: Export) -> bool:
    """Return whether there are chats of Open WebUI."""
    return any(map(_has_chats, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in filter(_has_chats, export.files):
        yield from build_all(file.list_values("chat"), partial(build_chat, attachments=options.attachments))


def build_chat(value: object, attachments: bool = False) -> Conversation:
    """Build the conversation of a chat.

    Args:
        value: its JSON.
        attachments: whether the texts of attachments are read, too.

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
    build = partial(_build_message, attachments=attachments, skipped=skipped)
    messages = [build(name, node, parents[name], name in shown) for name, node in nodes.items()]
    if not nodes:
        rows = get_records(chat, "messages")
        messages = [build(get_text(row, "id") or None, row, None, True) for row in rows]
    return Conversation(
        get_text(record, "id"),
        messages,
        get_text(record, "title") or get_text(chat, "title") or None,
        parse_recent_epoch(record.get("created_at")),
        skipped=+skipped,
        owner=PERSON,
    )


def _build_message(
    name: str | None, node: Record, parent: str | None, is_shown: bool, attachments: bool, skipped: Counter[str]
) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    role = get_text(node, "role")
    text = _read_text(node, skipped) if role in ("user", "assistant") else ""
    metadata = _read_metadata(node, attachments)
    if not text and ATTACHMENT_TEXTS not in metadata:
        skipped["instructions" if role == "system" else "messages without text"] += 1
    is_user = role == "user"
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else get_text(node, "modelName", "model") or "assistant",
        parse_recent_epoch(node.get("timestamp")),
        name,
        parent,
        is_shown,
        metadata,
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


def _read_metadata(node: Record, attachments: bool) -> Metadata:
    """Return the model that answered, the names of attachments, and their texts if they are wanted."""
    files = [(get_text(file, "name"), get_record(file, "file")) for file in get_records(node, "files")]
    named = [
        (name or get_text(file, "filename"), get_text(get_record(file, "data"), "content")) for name, file in files
    ]
    names: list[JSONValue] = [name for name, _ in named if name]
    texts: list[JSONValue] = [{"name": name, "text": text} for name, text in named if attachments and text]
    return drop_empty({"model": get_text(node, "model"), "attachments": names, ATTACHMENT_TEXTS: texts})


def _has_chats(file: ExportFile) -> bool:
    """Return whether a file is a chat or a list of chats."""
    return any(map(_is_chat, file.first_values))


def _is_chat(value: object) -> bool:
    chat = get_record(value, "chat")
    return "id" in get_record(value) and ("history" in chat or isinstance(chat.get("messages"), list))
