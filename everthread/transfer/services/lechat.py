"""Mistral's Le Chat: a zip archive with a file for each chat, a list of messages in no particular order.

A chat has no title. The text of a message is repeated in its chunks, which also have calls of tools and references.
"""

from __future__ import annotations

from collections.abc import Iterator

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import NO_WORDS, drop_empty, fill_conversation
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso
from everthread.types import JSONValue

NAME = "Le Chat"
PERSON = "user"


def recognises(export: Export) -> bool:
    """Return whether there are chats of Le Chat."""
    return any(map(_is_chat, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.files):
        chat = get_text(get_record(file.first_values[0]), "chatId")
        conversation = Conversation(chat, (), owner=PERSON, assistant=NAME)
        yield from fill_conversation(conversation, file.items(), _convert_message)


def _is_chat(file: ExportFile) -> bool:
    head = file.head
    first = get_record(head[0]) if isinstance(head, list) and head else {}
    return {"chatId", "contentChunks", "role"} <= first.keys() and bool(get_text(first, "chatId"))


def _convert_message(message: Record) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    is_user = get_text(message, "role") == "user"
    chunks = get_records(message, "contentChunks")
    texts = (get_text(chunk, "text") for chunk in chunks if chunk.get("type") == "text")
    if not (text := (get_text(message, "content") or "".join(texts)).strip()):
        return NO_WORDS
    names: list[JSONValue] = [name for file in get_records(message, "files") if (name := get_text(file, "name"))]
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else NAME,
        parse_iso(message.get("createdAt")),
        get_text(message, "id") or None,
        metadata=drop_empty({"attachments": names}),
    )
