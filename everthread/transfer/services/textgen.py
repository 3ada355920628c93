"""Reads the chats of the text generation web UI: `{"internal": [[message, reply], …], "visible": …}`.

The folder of a chat has the name of its character. Recent files have times, to the minute; messages are recognised by
their time, their text and the messages before them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import PurePosixPath

from everthread.transfer.dates import parse_moment
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import (
    Conversation,
    Entry,
    Message,
    ReadOptions,
    build_all,
    count_beginning,
)
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text
from everthread.types import Role

PERSON, NAME = "user", "assistant"
_GREETING = "<|BEGIN-VISIBLE-CHAT|>"  # in place of a message before the character's greeting
_MODE_FOLDERS = ("", "chat", "instruct", "logs")  # which are not named after a character


def recognises(export: Export) -> bool:
    """Return whether there is a chat of the text generation web UI."""
    return any(map(_is_chat, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.files):
        folder = PurePosixPath(file.name).parent.name
        name = NAME if folder in _MODE_FOLDERS else folder
        yield from build_all([(file.name, file.load())], partial(build_chat, name=name, tz=options.tz))


def build_chat(value: object, name: str = NAME, tz: tzinfo = UTC) -> Conversation:
    """Build the conversation of a chat.

    Args:
        value: its JSON.
        name: the name of its character.
        tz: the zone of its times.
    """
    record = get_record(value)
    about = get_record(record, "metadata")
    skipped = Counter[str]()
    messages: list[Message] = []
    parent: str | None = None
    for number, pair in enumerate(get_list(record, "internal")):
        texts = pair if isinstance(pair, list) else []
        for text, role in zip(texts, ("user", "assistant"), strict=False):
            if not isinstance(text, str) or text == _GREETING:
                continue
            said_at = _parse_time(get_record(about, f"{role}_{number}"), tz)
            if (message := _build_message(text, role == "user", said_at, parent, name, skipped)) is not None:
                messages.append(message)
                parent = message.id
    title = name if name != NAME else None
    parts = [(str(message.said_at), message.text) for message in messages[: count_beginning(messages)]]
    chat, namespace = (f"chat-{hash_parts(*beginning)[:16]}" for beginning in (parts, parts[:1]))
    return Conversation(chat, messages, title, skipped=+skipped, owner=PERSON, assistant=name, namespace=namespace)


def _is_chat(file: ExportFile) -> bool:
    head = get_record(file.head)
    return isinstance(head.get("internal"), list) and isinstance(head.get("visible"), list)


def _build_message(
    text: str, is_user: bool, said_at: datetime | None, parent: str | None, name: str, skipped: Counter[str]
) -> Message | None:
    """Return a message; None, and counted, if nothing was said."""
    text, thoughts = (text, 0) if is_user else cut_thoughts(text)
    skipped["thoughts"] += thoughts
    if not (text := text.strip()):
        skipped["messages without text"] += 1
        return None
    role: Role = "user" if is_user else "assistant"
    message_id = hash_parts(parent, role, text, str(said_at))
    return Message(text, role, PERSON if is_user else name, said_at, message_id, parent)


def _parse_time(about: Record, tz: tzinfo) -> datetime | None:
    """Return the time of a message, such as "Aug 23, 2025 13:05"; None without one."""
    try:
        return parse_moment(get_text(about, "timestamp"), tz)
    except ValueError:
        return None
