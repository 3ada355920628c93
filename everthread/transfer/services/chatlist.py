"""Conversations as lists of messages with roles, in the forms of many programs: TypingMind, big-AGI, Google AI Studio,
ShareGPT, browser extensions that save pages of services, and files for training (`{"messages": […]}` on each line).

The list of conversations is the file itself or one of its members; a file may also have one conversation alone, unless
it is in the form that the format `messages` reads. A conversation is known by its id or, without one, by its beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import (
    BrokenConversation,
    Conversation,
    Entry,
    Message,
    ReadOptions,
    count_beginning,
)
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso, parse_recent_epoch
from everthread.types import Role

NAME, PERSON = "assistant", "user"

_LISTS = ("conversations", "chats", "threads", "sessions", "chat-sessions", "data.chats", "data.conversations")
_MESSAGES = ("messages", "conversations", "contents", "chunks")  # members of a conversation, the last in AI Studio
ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "prompt", "you"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "response"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "function_call"), "tool"),
}
_SENDERS = ("role", "from", "author", "sender")
_TEXTS = ("content", "text", "value", "message", "say")
_PARTS = ("content", "contentParts", "fragments", "parts")
_TIMES = ("created_at", "createdAt", "createTime", "create_time", "created", "timestamp", "time")
_OF_OTHERS = frozenset(("isCreatedByUser", "from_id"))  # of LibreChat and Telegram, where people may be called "AI"
_KINDS = {"system": "instructions", "tool": "results of tools"}
_THOUGHTS = ("thinking", "reasoning", "ma")  # types of parts; the last in big-AGI


def recognises(export: Export) -> bool:
    """Return whether there is a list of conversations."""
    return any(_find_list(file) is not None for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all files."""
    used = Counter[str]()
    for file in export.files:
        path = _find_list(file)
        for number, value in enumerate(_list_values(file, path) if path is not None else (), 1):
            try:
                conversation = build_conversation(value, PurePosixPath(file.name).stem)
            except BadFile as error:
                yield BrokenConversation(f"conversation {number} of {file.name}", str(error))
                continue
            used[conversation.id] += 1
            if (count := used[conversation.id]) > 1:  # another conversation without an id, with the same beginning
                conversation = replace(conversation, id=f"{conversation.id}-{count}", namespace=None)
            yield conversation


def build_conversation(value: object, stem: str = "") -> Conversation:
    """Build a conversation from its JSON.

    Args:
        value: the JSON.
        stem: the name of its file without its suffix, the title of a conversation of AI Studio.

    Raises:
        BadFile: it has no list of messages.
    """
    if isinstance(value, BadFile):
        raise value
    record = get_record(value)
    rows = _find_messages(record)
    if rows is None:
        raise BadFile("it has no list of messages")
    skipped = Counter[str]()
    messages = [message for row in rows if (message := _build_message(row, skipped)) is not None]
    title = get_text(record, "title", "chatTitle", "userTitle", "autoTitle", "name", "topic")
    title = title or get_text(get_record(record, "metadata"), "title")
    conversation_id = get_text(record, "id", "uuid", "chatID", "conversationId", "conversation_id", "thread_id")
    texts = [message.text for message in messages[: count_beginning(messages)]]
    name, namespace = (f"chat-{hash_parts(title, *beginning)[:16]}" for beginning in (texts, texts[:1]))
    return Conversation(
        conversation_id or name,
        messages,
        title or (stem if "chunkedPrompt" in record else "") or None,
        _find_time(record),
        skipped=+skipped,
        owner=PERSON,
        assistant=NAME,
        namespace=None if conversation_id else namespace,
    )


def _find_list(file: ExportFile) -> str | None:
    """Return the path of the list of conversations in a file; "" for the file itself; None without one."""
    head = file.head
    first = head[0] if isinstance(head, list) and head else head
    if _is_conversation(first):
        is_single = not isinstance(head, list) and not file.has_rows
        return None if is_single and _is_of_chat_api(get_record(first)) else ""
    for path in _LISTS if isinstance(head, dict) else ():
        *outer, name = path.split(".")
        if any(map(_is_conversation, get_records(get_record(head, *outer), name)[:1])):
            return path
    return None


def _list_values(file: ExportFile, path: str) -> Iterator[object]:
    """Yield the conversations of a file."""
    if file.has_rows:
        yield from (value for _, value in file.rows())
    elif path or isinstance(file.head, list):
        yield from file.items(path)
    else:
        yield file.load()


def _is_conversation(value: object) -> bool:
    """Return whether a value has messages of which the first has a role and a text, and no other service's fields."""
    first = next(iter(_find_messages(get_record(value)) or ()), {})
    has_text = any(isinstance(first.get(name), str | list) for name in (*_TEXTS, *_PARTS))
    return has_text and _find_role(first) is not None and _OF_OTHERS.isdisjoint(first)


def _is_of_chat_api(record: Record) -> bool:
    """Return whether a conversation alone in a file is in the form that the format `messages` reads."""
    message = next(iter(get_records(record, "messages")), {})
    return isinstance(message.get("role"), str) and "content" in message


def _find_messages(record: Record) -> Sequence[Record] | None:
    """Return the messages of a conversation; None if it has no list of them."""
    inner = get_record(record, "chunkedPrompt") or record
    name = next((name for name in _MESSAGES if isinstance(inner.get(name), list)), None)
    return None if name is None else get_records(inner, name)


def _find_role(row: Record) -> Role | None:
    """Return the role of the sender of a message; None for another value."""
    sender = next((row[name] for name in _SENDERS if name in row), None)
    name = get_text(get_record(sender), "role") or (sender if isinstance(sender, str) else "")
    return ROLES.get(name.casefold())


def _build_message(row: Record, skipped: Counter[str]) -> Message | None:
    """Return a message; None, and counted, for one that was not said."""
    role = _find_role(row)
    if role not in ("user", "assistant"):
        skipped[_KINDS.get(role or "", "messages of unknown kinds")] += 1
        return None
    if row.get("isThought") is True:
        skipped["thoughts"] += 1
        return None
    text = get_text(row, *_TEXTS) or "\n\n".join(_read_parts(row, skipped))
    text, thoughts = (text, 0) if role == "user" else cut_thoughts(text)
    skipped["thoughts"] += thoughts
    if not text.strip():
        skipped["messages without text"] += 1
        return None
    speaker = get_text(row, "name") or (PERSON if role == "user" else NAME)
    message_id = get_text(row, "id", "uuid", "messageId") or None
    return Message(text.strip(), role, speaker, _find_time(row), message_id)


def _read_parts(row: Record, skipped: Counter[str]) -> Iterator[str]:
    """Yield the texts of the parts, and count the others."""
    for part in next((parts for name in _PARTS if (parts := get_records(row, name))), ()):
        inner = get_record(part, "part") or part  # in big-AGI
        kind = get_text(inner, "type", "pt")
        if kind in _THOUGHTS:
            skipped["thoughts"] += 1
        elif text := get_text(inner, "text") or get_text(get_record(inner, "text"), "value"):
            yield text
        else:
            skipped["parts that are no text"] += 1


def _find_time(record: Record) -> datetime | None:
    values = (record.get(name) for name in _TIMES)
    return next((time for value in values if (time := parse_iso(value) or parse_recent_epoch(value))), None)
