"""Telegram's chats, as its desktop app exports them in JSON: one chat, or all chats of an account.

A forwarded message is one of its author, because the sender did not say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from pathlib import PurePosixPath

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    CALLS,
    NO_WORDS,
    NOTICES,
    drop_empty,
    fill_conversation,
    format_time,
    get_id,
)
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_list,
    get_record,
    get_records,
    get_text,
    parse_epoch,
    parse_iso,
)
from everthread.types import JSONValue

SAVED_MESSAGES = "Saved Messages"
DELETED_ACCOUNT = "Deleted Account"  # as Telegram shows a person without a name
TYPES = frozenset(
    f"{kind}_{place}"
    for kind in ("private", "public", "personal", "bot")
    for place in ("chat", "group", "supergroup", "channel")
) | {"saved_messages", "replies", "verify_codes"}
CHAT_LISTS = ("chats.list", "left_chats.list")  # in an account's export
FILES = ("file_name", "file", "photo")  # members with a name or a path; the first that a message has
NOT_INCLUDED = "(File "  # begins a note about a file that the export does not contain


def recognises(export: Export) -> bool:
    """Return whether an export has chats of Telegram."""
    return any(_is_chat(get_record(file.head)) or _is_account(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in export.files:
        if _is_account(file):
            person = get_record(file.head, "personal_information")
            owner = f"{get_text(person, 'first_name')} {get_text(person, 'last_name')}".strip()
            for chat, messages in file.nested(CHAT_LISTS, "messages"):
                yield from convert_chat(chat, messages, options.tz, owner or None)
        elif _is_chat(head := get_record(file.head)):
            yield from convert_chat(head, file.items("messages"), options.tz)


def convert_chat(chat: Record, messages: Iterable[object], tz: tzinfo, owner: str | None = None) -> Iterator[Entry]:
    """Yield the conversation of a chat, and the messages that can't be read.

    Args:
        chat: the chat.
        messages: its messages.
        tz: the zone of times that are only given as local ones.
        owner: the name of the account's owner, if it is known.
    """
    is_saved = get_text(chat, "type") == "saved_messages"
    id = get_id(chat, "id")
    title = get_text(chat, "name") or (SAVED_MESSAGES if is_saved else f"{DELETED_ACCOUNT} {id}".strip())
    bot_id = f"user{id}" if get_text(chat, "type") == "bot_chat" else None
    conversation = Conversation(id or title, (), title=title, owner=owner)
    return fill_conversation(conversation, messages, lambda message: _convert_message(message, bot_id, tz))


def _is_chat(head: Record) -> bool:
    return get_text(head, "type") in TYPES and isinstance(head.get("messages"), list)


def _is_account(file: ExportFile) -> bool:
    chats = get_record(file.head, "chats")
    return isinstance(chats.get("list"), list) and all(map(_is_chat, get_records(chats, "list")))


def _convert_message(message: Record, bot_id: str | None, tz: tzinfo) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    if get_text(message, "type") != "message":
        return CALLS if get_text(message, "action") == "phone_call" else NOTICES
    if not (text := _join_text(message)).strip():
        return NO_WORDS
    sender, sender_id = get_text(message, "from") or DELETED_ACCOUNT, get_text(message, "from_id")
    is_forwarded = "forwarded_from" in message
    edited_at = parse_epoch(message.get("edited_unixtime")) or parse_iso(message.get("edited"), tz)
    metadata: dict[str, JSONValue] = {
        "sender_id": sender_id,
        "attachments": _list_files(message),
        "links": _list_links(message),
        "reply_to": get_id(message, "reply_to_message_id"),
        "edited_at": format_time(edited_at),
        "forwarded_by": sender if is_forwarded else "",
    }
    return Message(
        text,
        "assistant" if sender_id == bot_id and not is_forwarded else "user",
        get_text(message, "forwarded_from") or DELETED_ACCOUNT if is_forwarded else sender,
        parse_epoch(message.get("date_unixtime")) or parse_iso(message.get("date"), tz),
        id=get_id(message, "id") or None,
        metadata=drop_empty(metadata),
    )


def _join_text(message: Record) -> str:
    """Return the text of a message, which may be divided where its style changes."""
    text = message.get("text")
    if isinstance(text, str) and text:
        return text
    return "".join(part if isinstance(part, str) else _text_of(part) for part in _list_parts(message))


def _list_parts(message: Record) -> Sequence[object]:
    return get_list(message, "text_entities") or get_list(message, "text")


def _list_links(message: Record) -> list[JSONValue]:
    """Return the addresses of links of which the text shows only words."""
    return [href for part in _list_parts(message) if (href := get_text(get_record(part), "href"))]


def _list_files(message: Record) -> list[JSONValue]:
    names = (get_text(message, field) for field in FILES)
    first = next((name for name in names if name and not name.startswith(NOT_INCLUDED)), "")
    return [PurePosixPath(first).name] if first else []


def _text_of(part: object) -> str:
    text = get_record(part).get("text")  # which may be blank
    return text if isinstance(text, str) else ""
