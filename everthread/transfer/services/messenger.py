"""Messenger's and Instagram's chats, as Meta exports them in JSON, and Messenger's end-to-end encrypted chats.

In Meta's own files, each byte of the UTF-8 text is written as a character ("Ã¼" for "ü"). A long chat is divided into
`message_1.json`, which has the latest messages, `message_2.json` and so on. A file of an encrypted chat has other
names of fields, and correct text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    CALLS,
    DELETED,
    NO_WORDS,
    NOTICES,
    REACTIONS,
    Collector,
    Converter,
    drop_empty,
)
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_epoch
from everthread.types import JSONValue, Metadata

MEDIA = ("photos", "videos", "audio_files", "files", "gifs")
MEMBERSHIP = ("Subscribe", "Unsubscribe")  # types of notices about people who join and leave
_REACTION = re.compile(  # in an export in English, German, Spanish, French, Italian, Dutch or Portuguese
    r"(?:Liked a message|Hat eine Nachricht mit „Gefällt mir“ markiert|(?:Le|Te) gustó un mensaje|Curtiu uma mensagem|"
    r"A aimé un message|Ha messo \"Mi piace\" a un messaggio|Reacted \S+ to your message|"
    r"Hat mit \S+ auf deine Nachricht reagiert|Reaccionó con \S+ a tu mensaje|A réagi (?:avec )?\S+ à votre message|"
    r"Ha reagito con \S+ al tuo messaggio|Heeft met \S+ op je bericht gereageerd|Reagiu com \S+ à sua mensagem)\.?\s?"
)
_NOTICE = re.compile(  # after the name of the sender, in an export in English
    r"(?:(?:named|created|joined|left) the group|changed the (?:group )?(?:photo|name|theme|chat theme|quick reaction)|"
    r"set (?:the|your|\w+ own) (?:nickname|emoji|quick reaction)|(?:added|removed) .{1,200} (?:to|from) the group|"
    r"(?:started|joined|missed) (?:an?|the|your) (?:video |audio )?(?:call|chat)|turned (?:on|off) |pinned a message|"
    r"created a poll|sent a (?:photo|video|voice message|live location))\b.*"
)
_CALL_END = re.compile(r"(?:The )?(?:video|audio) (?:chat|call) ended\.?", re.IGNORECASE)
_NUMBER = re.compile(r"_\d+$")  # at the end of a file's or an encrypted chat's name


def recognises(export: Export) -> bool:
    """Return whether an export has chats of Messenger or Instagram."""
    return any(_is_thread(file) or _is_encrypted(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, each with the messages of all its files."""
    threads: dict[tuple[Path, str], list[ExportFile]] = {}
    for file in export.files:
        if _is_encrypted(file):
            yield from convert_encrypted(file.members("messages"))
        elif _is_thread(file):
            threads.setdefault(_locate_thread(file), []).append(file)
    for files in threads.values():
        files.sort(key=_number_of)
        yield from convert_thread(chain.from_iterable(file.members("messages") for file in files))


def convert_thread(members: Iterable[tuple[str, object]]) -> Iterator[Entry]:
    """Yield the conversation of a chat, and the messages that can't be read.

    Args:
        members: the members of all its files: each message as "messages", from the latest to the first, and others.
    """
    collector = Collector(may_be_reversed=True)
    thread = _collect(collector, members, _convert_message)
    title = repair(get_text(thread, "title"))
    return collector.fill(Conversation(get_text(thread, "thread_path") or title, (), title or None))


def convert_encrypted(members: Iterable[tuple[str, object]]) -> Iterator[Entry]:
    """Yield the conversation of an encrypted chat, and the messages that can't be read.

    Args:
        members: the members of its file: each message as "messages", in either order, and others.
    """
    collector = Collector(may_be_reversed=True)
    name = get_text(_collect(collector, members, _convert_encrypted_message), "threadName")
    return collector.fill(Conversation(name, (), _NUMBER.sub("", name) or None))


def _collect(collector: Collector, members: Iterable[tuple[str, object]], convert: Converter) -> Record:
    """Add the messages among some members, and return the others, each with its first value."""
    others: dict[str, object] = {}
    for name, value in members:
        if name == "messages":
            collector.add(value, convert)
        else:
            others.setdefault(name, value)
    return others


def repair(text: str) -> str:
    """Return a text whose UTF-8 bytes were written as characters; any other text as it is."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _is_thread(file: ExportFile) -> bool:
    return _has_chat(get_record(file.head), "thread_path", "timestamp_ms")


def _is_encrypted(file: ExportFile) -> bool:
    return _has_chat(get_record(file.head), "threadName", "senderName")


def _has_chat(head: Record, name: str, name_in_message: str) -> bool:
    """Return whether a file has a chat with one of these names, in itself or in its first message."""
    first = next(iter(get_records(head, "messages")), {})
    return {"participants", "messages"} <= head.keys() and (name in head or name_in_message in first)


def _locate_thread(file: ExportFile) -> tuple[Path, str]:
    """Return the folder or the archive of a file, and its name without its number: those of a chat have the same."""
    return file.path if file.is_archived else file.path.parent, _NUMBER.sub("", _stem(file))


def _number_of(file: ExportFile) -> int:
    digits = _NUMBER.search(_stem(file))
    return int(digits[0][1:10]) if digits else 0


def _stem(file: ExportFile) -> str:
    return file.name.removesuffix(".json")


def _convert_message(message: Record) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    name, text = repair(get_text(message, "sender_name")), repair(get_text(message, "content"))
    if message.get("is_unsent") is True or _says_unsent(name, text):
        return DELETED
    if "call_duration" in message or message.get("type") == "Call":
        return CALLS
    if message.get("type") in MEMBERSHIP:
        return NOTICES
    if _REACTION.fullmatch(text):
        return REACTIONS
    if _NOTICE.fullmatch(text.removeprefix(f"{name} ")) and text.startswith(f"{name} "):
        return NOTICES
    if _CALL_END.fullmatch(text):
        return CALLS
    if not text.strip() or (text == f"{name} sent an attachment." and "share" in message):
        return NO_WORDS
    metadata = _describe_files(
        [file for kind in MEDIA for file in get_records(message, kind)], get_record(message, "share")
    )
    return Message(text, "user", name, parse_epoch(message.get("timestamp_ms"), 1000), metadata=metadata)


def _convert_encrypted_message(message: Record) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    name, text = get_text(message, "senderName"), get_text(message, "text")
    if message.get("isUnsent") is True or _says_unsent(name, text):
        return DELETED
    if not text.strip():
        return NO_WORDS
    metadata = _describe_files(get_records(message, "media"), {})
    return Message(text, "user", name, parse_epoch(message.get("timestamp"), 1000), metadata=metadata)


def _describe_files(files: Iterable[Record], share: Record) -> Metadata:
    names: list[JSONValue] = [PurePosixPath(repair(uri)).name for file in files if (uri := get_text(file, "uri"))]
    return drop_empty({"attachments": names, "link": repair(get_text(share, "link"))})


def _says_unsent(name: str, text: str) -> bool:
    """Return whether Messenger put its own words in the place of an unsent message."""
    return text.removesuffix(".") in (f"{name} unsent a message", "User unsent a message", "You unsent a message")
