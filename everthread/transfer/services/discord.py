"""Discord's channels and direct messages, as DiscordChatExporter writes them in JSON.

A long channel may be divided into several files. Times have the offset that was chosen for the export.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import NO_WORDS, NOTICES, drop_empty, fill_conversation, get_id
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_iso
from everthread.types import JSONValue

SPOKEN = ("Default", "Reply", "20", "23")  # 20, 23: a bot's answer to a command; the exporter has no name for these


def recognises(export: Export) -> bool:
    """Return whether an export has channels of Discord."""
    return any(map(_is_channel, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the channels, each with the messages of all its files."""
    channels: dict[str, list[ExportFile]] = {}
    for file in filter(_is_channel, export.files):
        channels.setdefault(get_id(get_record(file.head, "channel"), "id"), []).append(file)
    for files in channels.values():
        messages = chain.from_iterable(file.items("messages") for file in files)
        yield from convert_channel(get_record(files[0].head), messages)


def convert_channel(export: Record, messages: Iterable[object]) -> Iterator[Entry]:
    """Yield the conversation of a channel, and the messages that can't be read.

    Args:
        export: the export, with its guild and its channel.
        messages: its messages, in any order.
    """
    channel, guild = get_record(export, "channel"), get_record(export, "guild")
    conversation = Conversation(
        get_id(channel, "id") or get_text(channel, "name"),
        (),
        title=get_text(channel, "name") or None,
        metadata=drop_empty({"guild": get_text(guild, "name"), "category": get_text(channel, "category")}),
    )
    return fill_conversation(conversation, messages, _convert_message)


def _is_channel(file: ExportFile) -> bool:
    """Return whether a file has a channel. Only this exporter writes a guild and a channel beside messages."""
    return {"guild", "channel", "messages"} <= get_record(file.head).keys()


def _convert_message(message: Record) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    if get_text(message, "type") not in SPOKEN:
        return NOTICES
    author, forwarded = get_record(message, "author"), get_record(message, "forwardedMessage")
    said = forwarded or message
    if not (text := get_text(said, "content")):
        return NO_WORDS
    files: list[JSONValue] = [get_text(file, "fileName") for file in get_records(said, "attachments")]
    metadata: dict[str, JSONValue] = {
        "author_id": get_id(author, "id"),
        "attachments": files,
        "edited_at": get_text(message, "timestampEdited"),
        "reply_to": "" if forwarded else get_id(get_record(message, "reference"), "messageId"),
        "forwarded": bool(forwarded),
    }
    return Message(
        text,
        "assistant" if author.get("isBot") is True else "user",
        get_text(author, "nickname", "name"),
        parse_iso(message.get("timestamp")),
        id=get_id(message, "id") or None,
        metadata=drop_empty(metadata),
    )
