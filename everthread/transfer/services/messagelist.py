"""Reads lists of messages in JSON that name their senders, as people and small programs write them: `table` in JSON.

A message has a text, a sender and perhaps a time: `{"sender": "Ann", "text": "Hello.", "time": "2024-05-06 18:05"}`.
The list is the file itself, a member of an object, which may have a title and a time for its messages, or a member of
each object of another list. Rows of JSON Lines are one list, unless they have the fields of the format `jsonl`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import hash_parts
from everthread.transfer.services.chatlist import NAME, PERSON, ROLES
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_list,
    get_record,
    get_records,
    get_text,
    parse_iso,
    parse_recent_epoch,
)
from everthread.transfer.services.registry import is_of_others
from everthread.transfer.transcript_styles import is_person

_LISTS = ("conversations", "chats", "threads", "sessions", "dialogues", "dialogs")
_MESSAGES = ("messages", "conversation", "dialogue", "dialog", "turns", "chat", "history", "utterances", "log")
_SENDERS = ("sender", "speaker", "from", "author", "name", "username")
_CERTAIN_SENDERS = 4  # the others may be names of something else, such as files, where there is no time
_TEXTS = ("text", "content", "message", "utterance", "body")
_TIMES = (
    *("timestamp", "time", "date", "datetime", "date_time", "created_at", "createdAt", "sent_at", "said_at", "ts"),
    *("session_date", "start_time", "started_at"),
)
_IDS = ("id", "uuid", "session_id", "conversation_id", "chat_id", "dialogue_id", "thread_id")
_OF_OTHERS = frozenset(  # in messages of services that have a reader, of chat APIs and of the format `jsonl`
    (
        *("role", "from_id", "isCreatedByUser", "is_user", "timestamp_ms", "senderName", "author_id", "event_id"),
        *("chat_messages", "mes", "parent_message_uuid", "thread_ts", "message_type", "sticker", "bot_id", "subtype"),
    )
)
_OF_ROWS = frozenset(  # in rows of the format `jsonl`
    ("speaker", "name", "said_at", "key", "session", "ref", "retracted_at", "metadata")
)


def recognises(export: Export) -> bool:
    """Return whether there is a list of messages with senders."""
    return any(map(_is_own, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all files."""
    for file in filter(_is_own, export.files):
        stem = PurePosixPath(file.name).stem
        if _has_rows(file):
            yield build_conversation([value for _, value in file.rows()], stem, options.tz)
        elif (path := _find_list(file)) is not None:
            yield from _read_file(file, path, stem, options.tz)


def build_conversation(value: object, stem: str, tz: tzinfo) -> Conversation:
    """Build a conversation of its messages, or of the object that has them.

    Args:
        value: its JSON.
        stem: the name of its file without its suffix.
        tz: the zone of times without one.

    Raises:
        BadFile: it has no list of messages.
    """
    record = get_record(value)
    rows = value if isinstance(value, list) else _find_messages(record)
    if rows is None:
        raise BadFile("it has no list of messages")
    skipped = Counter[str]()
    messages = [message for row in rows if (message := _build_message(row, tz, skipped)) is not None]
    times = [message.said_at for message in messages if message.said_at is not None]
    if times and times[0] > times[-1]:  # the newest is the first
        messages.reverse()
    title = get_text(record, "title", "name", "topic")
    id = next((str(value) for name in _IDS if isinstance(value := record.get(name), str | int) and value != ""), "")
    beginning = (str(messages[0].said_at), messages[0].text) if messages else (stem,)
    return Conversation(
        id or title or f"list-{hash_parts(*beginning)[:16]}",
        messages,
        title or None,
        _find_time(record, tz),
        skipped=skipped,
        owner=PERSON,
        assistant=NAME,
        namespace=title or ("" if times and not id else None),
    )


def _read_file(file: ExportFile, path: str, stem: str, tz: tzinfo) -> Iterator[Entry]:
    """Yield the conversations of a file, whose list is at a path; see `_find_list`."""
    is_list = bool(path) or _is_conversation(get_record(file.first_values[0]))
    values = file.items(path) if is_list and (path or isinstance(file.head, list)) else iter([file.load()])
    used = Counter[str]()
    for number, value in enumerate(values, 1):
        try:
            conversation = build_conversation(value, stem, tz)
        except BadFile as error:
            yield BrokenConversation(f"conversation {number} of {file.name}", str(error))
            continue
        used[conversation.id] += 1
        if (count := used[conversation.id]) > 1:  # another one with the same title or beginning
            conversation = replace(conversation, id=f"{conversation.id}-{count}", namespace=None)
        yield conversation


def _is_own(file: ExportFile) -> bool:
    """Return whether a file has a list of messages, and no reader of a service takes it."""
    return (_has_rows(file) or _find_list(file) is not None) and not is_of_others(file, "messagelist")


def _has_rows(file: ExportFile) -> bool:
    head = get_record(file.head)
    return file.has_rows and "sender" in head and _is_message(head) and _OF_ROWS.isdisjoint(head)


def _find_list(file: ExportFile) -> str | None:
    """Return the path of the list of conversations in a file; "" for the file itself; None without one."""
    head = file.head
    if head is None or file.has_rows:
        return None
    if _is_conversation(get_record(head)) or (isinstance(head, list) and head and _is_messages_or_chat(head[0])):
        return ""
    lists = (name for name in _LISTS if isinstance(head, dict) and any(map(_is_conversation, get_records(head, name))))
    return next(lists, None)


def _is_messages_or_chat(value: object) -> bool:
    return _is_message(value) or _is_conversation(get_record(value))


def _is_conversation(record: Record) -> bool:
    return _is_message(next(iter(_find_messages(record) or ()), None))


def _find_messages(record: Record) -> Sequence[object] | None:
    """Return the messages of a conversation; None if it has no list of them."""
    name = next((name for name in _MESSAGES if isinstance(record.get(name), list)), None)
    return None if name is None else get_list(record, name)


def _is_message(value: object) -> bool:
    record = get_record(value)
    has_sender = any(name in record for name in _SENDERS[:_CERTAIN_SENDERS]) or any(name in record for name in _TIMES)
    return bool(has_sender and get_text(record, *_TEXTS) and _find_sender(record)) and _OF_OTHERS.isdisjoint(record)


def _find_sender(record: Record) -> str:
    """Return the name of the sender, who may be an object with a name; "" without one, and for one of Discord."""
    senders = (get_record(record, name) for name in _SENDERS)
    names = (get_text(sender, "name", "display_name", "username") for sender in senders if "isBot" not in sender)
    return get_text(record, *_SENDERS) or next(filter(None, names), "")


def _build_message(value: object, tz: tzinfo, skipped: Counter[str]) -> Message | None:
    """Return a message; None, and counted, for an entry without a text."""
    record = get_record(value)
    text = get_text(record, *_TEXTS).strip()
    if not text:
        skipped["messages without text" if isinstance(value, dict) else "broken messages"] += 1
        return None
    sender = _find_sender(record) or PERSON
    role = "user" if is_person(sender) else ROLES.get(sender.casefold())
    if role in ("system", "tool"):
        skipped["instructions" if role == "system" else "results of tools"] += 1
        return None
    speaker = {"user": PERSON, "assistant": NAME}.get(role or "", sender)
    metadata = drop_empty({"id": get_text(record, "id", "dia_id", "message_id", "uuid")})
    return Message(text, role or "user", speaker, _find_time(record, tz), metadata=metadata)


def _find_time(record: Record, tz: tzinfo) -> datetime | None:
    values = (record.get(name) for name in _TIMES)
    return next((time for value in values if (time := _parse_time(value, tz)) is not None), None)


def _parse_time(value: object, tz: tzinfo) -> datetime | None:
    """Return the time of a text or of a number since 1970; None for another value, such as an ambiguous date."""
    if (moment := parse_iso(value, tz) or parse_recent_epoch(value)) is not None or not isinstance(value, str):
        return moment
    try:
        return parse_moment(value, tz)
    except ValueError:
        return None
