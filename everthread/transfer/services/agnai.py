"""Reads chats of Agnai, as its menu "Export" writes them: `{"messages": [{"msg": …, "handle": …}], "treeLeafId": …}`.

A message of a person has a `userId`, one of a character a `characterId`. If messages name the ones that they follow,
the path up from `treeLeafId` is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso
from everthread.transfer.services.trees import trace_path

PERSON = "user"
_SENDERS = frozenset(("handle", "userId", "characterId"))


def recognises(export: Export) -> bool:
    """Return whether there is a chat of Agnai."""
    return any(map(_is_chat, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.files):
        yield from build_all([(file.name, file.load())], build_chat)


def build_chat(value: object) -> Conversation:
    """Build the conversation of a chat.

    Raises:
        BadFile: it has no list of messages.
    """
    record = get_record(value)
    if not isinstance(record.get("messages"), list):
        raise BadFile("it has no list of messages")
    skipped = Counter[str]()
    rows = get_records(record, "messages")
    parents = {get_text(row, "_id"): get_text(row, "parent") or None for row in rows}
    leaf = get_text(record, "treeLeafId")
    is_tree = leaf in parents and any(parents.values())
    shown = trace_path(parents, leaf) if is_tree else set(parents)
    messages = [_build_message(row, is_tree, get_text(row, "_id") in shown, skipped) for row in rows]
    character = next((message.speaker for message in messages if message.role == "assistant"), None)
    owner = next((message.speaker for message in messages if message.role == "user"), None)
    first = messages[0].id or messages[0].text if messages else ""
    return Conversation(f"{character}-{hash_parts(first)[:8]}", messages, character, skipped=+skipped, owner=owner)


def _is_chat(file: ExportFile) -> bool:
    first = next(iter(get_records(get_record(file.head), "messages")), {})
    return isinstance(first.get("msg"), str) and not _SENDERS.isdisjoint(first)


def _build_message(row: Record, is_tree: bool, is_shown: bool, skipped: Counter[str]) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    is_character = bool(get_text(row, "characterId")) and not get_text(row, "userId")
    text = get_text(row, "msg").strip()
    skipped["messages without text"] += not text
    return Message(
        text,
        "assistant" if is_character else "user",
        get_text(row, "handle") or ("assistant" if is_character else PERSON),
        parse_iso(row.get("createdAt")),
        get_text(row, "_id") or None,
        get_text(row, "parent") or None if is_tree else None,
        is_shown,
    )
