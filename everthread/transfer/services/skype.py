"""Skype's chats, as its export has them in JSON: all chats of an account, each from the last message to the first.

A text has marks of formatting and, with an answer, the words that it answers, which are the other person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from everthread.transfer.services.chatlist import PERSON
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import CALLS, NO_WORDS, NOTICES, Collector, drop_empty, get_id
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_text, parse_iso

_TEXTS = ("RichText", "Text")  # types of messages
_KINDS = {"Event/Call": CALLS}
_QUOTED_ID = re.compile(r'\bmessageid="([^"]{1,200})"')
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,4999}>")
_QUOTE_TAG = re.compile(r"(<quote [^<>]{0,4999}>|</quote>)")


def recognises(export: Export) -> bool:
    """Return whether an export has chats of Skype."""
    return any(map(_is_export, export.named("*.json")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in filter(_is_export, export.named("*.json")):
        owner = get_text(get_record(file.head), "userId")
        for chat, messages in file.nested(("conversations",), "MessageList"):
            collector, convert = Collector(may_be_reversed=True), partial(_convert_message, chat=chat, owner=owner)
            for message in messages:
                collector.add(message, convert)
            title = get_text(chat, "displayName") or None
            yield from collector.fill(Conversation(get_id(chat, "id"), (), title=title, owner=PERSON))


def _is_export(file: ExportFile) -> bool:
    """Return whether a file has the chats of an account. Only Skype's has these members together."""
    return {"userId", "exportDate", "conversations"} <= get_record(file.head).keys()


def _convert_message(message: Record, chat: Record, owner: str) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    kind, content = get_text(message, "messagetype"), get_text(message, "content")
    if kind not in _TEXTS:
        return NOTICES if kind.startswith("ThreadActivity/") else _KINDS.get(kind, NO_WORDS)
    said, quote = _split_quotes(content)
    text = unescape(_TAG.sub("", said)).strip() if kind == "RichText" else content.strip()
    quoted_id = _QUOTED_ID.search(quote)
    if not text:
        return NO_WORDS
    return Message(
        text,
        "user",
        _name_sender(message, chat, owner),
        parse_iso(message.get("originalarrivaltime")),
        id=get_id(message, "id") or None,
        metadata=drop_empty({"user_id": get_text(message, "from"), "reply_to": quoted_id[1] if quoted_id else ""}),
    )


def _split_quotes(content: str) -> tuple[str, str]:
    """Return a text without the words that it answers, and the tag before the first of these."""
    said, tags, depth = list[str](), list[str](), 0
    for part in _QUOTE_TAG.split(content):
        if part == "</quote>":
            depth -= 1
        elif part.startswith("<quote "):
            tags.append(part)
            depth += 1
        elif depth == 0:
            said.append(part)
        if depth < 0:
            break
    return ("".join(said), tags[0]) if tags and depth == 0 else (content, "")


def _name_sender(message: Record, chat: Record, owner: str) -> str:
    """Return the name of a person; of one without a name, that of the chat with this person, or else the account."""
    sender = get_text(message, "from")
    if sender == owner:
        return PERSON
    is_partner = sender == get_id(chat, "id")
    own_name = get_text(message, "displayName") or (get_text(chat, "displayName") if is_partner else "")
    return own_name or sender.partition(":")[2] or sender or "Unknown"
