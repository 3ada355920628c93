"""Reads chats of RisuAI: `{"type": "risuChat", "data": {…}}`, or all chats of a character as "risuAllChats".

A chat does not name its character, and does not have the character's greeting: the name is taken from the file's, which
RisuAI writes as `Name_2026-01-02T030405678Z_chat.json`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text, parse_epoch
from everthread.types import JSONValue

PERSON = "user"  # whose name the file may not have
_TYPES = ("risuChat", "risuAllChats")
_ALL_BEFORE = "allBefore"  # a message with this disables those before it
_FILE_NAME = re.compile(r"(.+?)_(?:all_chats_)?\d{4}-\d\d-\d\dT[\dZ-]+(?:_chat)?")


def recognises(export: Export) -> bool:
    """Return whether there is a chat of RisuAI."""
    return any(map(_is_chat, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in filter(_is_chat, export.files):
        data = get_record(file.load()).get("data")
        for number, chat in enumerate(data if isinstance(data, list) else [data], 1):
            try:
                yield build_chat(chat, _find_character(file))
            except BadFile as error:
                yield BrokenConversation(get_text(get_record(chat), "name") or f"chat {number}", str(error))


def build_chat(value: object, character: str | None = None) -> Conversation:
    """Build the conversation of a chat.

    Args:
        value: the chat.
        character: the name of its character, if it is known.

    Raises:
        BadFile: it has no list of messages.
    """
    chat = get_record(value)
    if not isinstance(chat.get("message"), list):
        raise BadFile("the chat has no list of messages (message)")
    rows = [row for row in get_list(chat, "message") if isinstance(row, dict) and isinstance(row.get("data"), str)]
    skipped = Counter({"broken messages": len(get_list(chat, "message")) - len(rows)})
    names = _name_characters(rows, character)
    hidden_before = max((number for number, row in enumerate(rows) if row.get("disabled") == _ALL_BEFORE), default=-1)
    messages: list[Message] = []
    for number, row in enumerate(rows):
        text, thoughts = (row["data"], 0) if row.get("role") == "user" else cut_thoughts(row["data"])
        skipped["thoughts"] += thoughts
        if row.get("isComment") is True or not text.strip():
            skipped["comments" if row.get("isComment") else "messages without text"] += 1
            continue
        is_hidden = row.get("disabled") is True or number <= hidden_before
        messages.append(_build_message(row, text, names, is_hidden))
    title = character or get_text(chat, "name") or None
    has_times = any(message.said_at for message in messages)
    last_at = None if has_times else parse_epoch(chat.get("lastDate"), per_second=1000)
    owner = next((message.speaker for message in messages if message.role == "user"), None)
    return Conversation(_identify(chat, character, messages), messages, title, last_at, skipped=+skipped, owner=owner)


def _build_message(row: Record, text: str, names: dict[str, str], is_hidden: bool) -> Message:
    is_user = row.get("role") == "user"
    saying = get_text(row, "saying")
    speaker = get_text(row, "name") or (PERSON if is_user else names[saying])
    fields: dict[str, JSONValue] = {"hidden": is_hidden, "character": saying}
    metadata = {name: value for name, value in fields.items() if value}
    said_at, message_id = parse_epoch(row.get("time"), per_second=1000), get_text(row, "chatId") or None
    return Message(text, "user" if is_user else "assistant", speaker, said_at, message_id, metadata=metadata)


def _name_characters(rows: Sequence[Record], character: str | None) -> dict[str, str]:
    """Return the name of each character, by its id. A group has only their ids, unless messages have names."""
    ids: dict[str, str] = {}
    for row in rows:
        if row.get("role") != "user":
            saying = get_text(row, "saying")
            ids[saying] = ids.get(saying) or get_text(row, "name")
    if len(ids.keys() - {""}) > 1:
        return {key: name or key or character or "assistant" for key, name in ids.items()}
    return {key: name or character or "assistant" for key, name in ids.items()}


def _identify(chat: Record, character: str | None, messages: list[Message]) -> str:
    """Return the id of a chat, or one made of its beginning, so that it is the same when the chat has grown."""
    if chat_id := get_text(chat, "id"):
        return chat_id
    first = messages[0] if messages else None
    parts = (first.id, str(first.said_at), first.text) if first else ()
    return f"{character or 'chat'}-{get_text(chat, 'name')}-{hash_parts(*parts)[:8]}"


def _find_character(file: ExportFile) -> str | None:
    """Return the name of the character in the name that RisuAI gives a file."""
    match = _FILE_NAME.fullmatch(PurePosixPath(file.name).stem)
    return match[1] if match else None


def _is_chat(file: ExportFile) -> bool:
    head = get_record(file.head)
    return head.get("type") in _TYPES and "ver" in head and isinstance(head.get("data"), dict | list)
