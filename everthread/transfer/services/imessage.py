"""The chats of Apple's Messages app, iMessages and text messages, from its database `chat.db`.

The database has the numbers and addresses of people, not their names. Its columns differ between versions of macOS.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    DELETED,
    NO_WORDS,
    NOTICES,
    REACTIONS,
    drop_empty,
    fill_conversation,
    format_time,
)
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_text, parse_epoch
from everthread.transfer.services.sqlite_file import DAMAGES, is_database, open_database
from everthread.transfer.services.typedstream import read_text
from everthread.types import JSONValue

ME = "Me"  # the owner, whose name the database does not have
UNKNOWN = "Unknown"  # a person in a group without a number or an address
TABLES = frozenset(("message", "chat", "handle", "chat_message_join"))
HEAD_BYTES = 2**20  # of a damaged database, which name its tables
COLUMNS = (
    "guid",
    "text",
    "attributedBody",
    "subject",
    "date",
    "date_edited",
    "date_retracted",
    "is_from_me",
    "handle_id",
    "item_type",
    "is_system_message",
    "associated_message_type",
    "thread_originator_guid",
)
NAMESPACE = "message"  # a message has the same id in all chats and on all devices
STICKER = 1000  # the type of a sticker on another message
FIRST_TAPBACK = 2000  # the first of the types of reactions and votes
ATTACHMENT = "\ufffc"  # the place of a file in a text
PLACEHOLDERS = f"{ATTACHMENT}\ufffd \t\r\n"  # a text of these alone has no words; U+FFFD is the place of an app
LINK_PREVIEW = ".pluginPayloadAttachment"  # a file that the app adds to a link
_EPOCH_S = int(datetime(2001, 1, 1, tzinfo=UTC).timestamp())
_MAX_SECONDS = 10**12  # a greater date is in nanoseconds, as since macOS 10.13


@dataclass(slots=True)
class _Chat:
    """A chat with a person or a group, which may have a row for each service: iMessage, SMS."""

    guid: str
    rows: list[int] = field(default_factory=list)
    name: str = ""
    people: dict[str, None] = field(default_factory=dict)


def recognises(export: Export) -> bool:
    """Return whether an export has the database of the Messages app."""
    return any(_is_messages(file, export) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in filter(is_database, export.files):
        with open_database(file, export) as db:
            if _has_chats(db):
                yield from _read_chats(db)


def _read_chats(db: sqlite3.Connection) -> Iterator[Entry]:
    """Yield the conversation of each chat, and the messages that can't be read."""
    people = {row: person for row, person in db.execute("SELECT ROWID, id FROM handle") if isinstance(person, str)}
    columns = ", ".join((*_choose_columns(db, "message", COLUMNS, "m."), _select_files(db)))
    for identifier, chat in _list_chats(db, people).items():
        others = list(chat.people)
        title = chat.name or ", ".join(others) or identifier
        conversation = Conversation(chat.guid, (), title=title or None, owner=ME, namespace=NAMESPACE)
        convert = partial(_convert_message, people=people, other=others[0] if len(others) == 1 else UNKNOWN)
        yield from fill_conversation(conversation, _read_rows(db, columns, chat.rows), convert)


def _is_messages(file: ExportFile, export: Export) -> bool:
    """Return whether a file is the database of the Messages app, which may be damaged."""
    if not is_database(file):
        return False
    try:
        with open_database(file, export) as db:
            return _has_chats(db)
    except BadFile:
        with file.open() as opened:
            return b"chat_message_join" in opened.read(HEAD_BYTES)


def _has_chats(db: sqlite3.Connection) -> bool:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} >= TABLES


def _list_columns(db: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; none if there is no such table."""
    return {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}


def _choose_columns(db: sqlite3.Connection, table: str, names: Sequence[str], prefix: str = "") -> list[str]:
    """Return columns for a query, with NULL for those that this version of a table lacks."""
    existing = _list_columns(db, table)
    return [f"{prefix}{name}" if name in existing else f"NULL AS {name}" for name in names]


def _select_files(db: sqlite3.Connection) -> str:
    """Return the column with the names of a message's files, as a list in JSON."""
    names = [f"file.{name}" for name in ("transfer_name", "filename") if name in _list_columns(db, "attachment")]
    if not names or not _list_columns(db, "message_attachment_join"):
        return "NULL AS files"
    return (
        f"(SELECT json_group_array(coalesce({', '.join(names)}, NULL)) FROM message_attachment_join AS link"
        " JOIN attachment AS file ON file.ROWID = link.attachment_id WHERE link.message_id = m.ROWID) AS files"
    )


def _list_chats(db: sqlite3.Connection, people: Mapping[int, str]) -> dict[str, _Chat]:
    """Return the chats by identifier, which is the person or the group. The app shows rows with the same one as one."""
    members: dict[int, list[str]] = defaultdict(list)
    if _list_columns(db, "chat_handle_join"):
        for row, person in db.execute("SELECT chat_id, handle_id FROM chat_handle_join ORDER BY handle_id"):
            members[row] += [people[person]] if person in people else []
    columns = ", ".join(_choose_columns(db, "chat", ("guid", "chat_identifier", "display_name")))
    chats: dict[str, _Chat] = {}
    for row, *texts in db.execute(f"SELECT ROWID, {columns} FROM chat ORDER BY ROWID"):
        guid, identifier, name = (text.strip() if isinstance(text, str) else "" for text in texts)
        chat = chats.setdefault(identifier or guid or str(row), _Chat(guid or identifier or str(row)))
        chat.rows.append(row)
        chat.name = chat.name or name
        chat.people |= dict.fromkeys(members[row])
    return chats


def _read_rows(db: sqlite3.Connection, columns: str, chats: Sequence[int]) -> Iterator[Record | BadFile]:
    """Yield the messages of some rows of chats; an error for one that is damaged, and in place of those that follow."""
    query = (
        f"SELECT {columns} FROM chat_message_join AS part JOIN message AS m ON m.ROWID = part.message_id"
        f" WHERE part.chat_id IN ({', '.join('?' * len(chats))}) ORDER BY part.message_id"
    )
    try:
        for values in db.execute(query, chats):
            yield _fill_text(dict(zip((*COLUMNS, "files"), values, strict=True)))
    except DAMAGES as error:
        yield BadFile(f"the database is damaged from here on ({error})")


def _fill_text(row: Record) -> Record | BadFile:
    """Return a message with its text, which newer versions of the app write as an attributed string alone."""
    body = row["attributedBody"]
    if get_text(row, "text") or not isinstance(body, bytes) or not body or _find_kind(row):
        return row
    try:
        return {**row, "text": read_text(body)}
    except ValueError as error:
        return BadFile(f"its text can't be read: {error}")


def _find_kind(row: Record) -> str:
    """Return the kind of an entry that is no message to import; "" if it may be one."""
    kind = _get_number(row, "associated_message_type")
    if kind >= FIRST_TAPBACK or kind == STICKER:
        return REACTIONS
    if _get_number(row, "date_retracted"):
        return DELETED
    return NOTICES if _get_number(row, "item_type") or _get_number(row, "is_system_message") else ""


def _convert_message(row: Record, people: Mapping[object, str], other: str) -> Message | str:
    """Return a message, or the kind of an entry that is no message.

    Args:
        row: the message.
        people: the people by number.
        other: the speaker of a message without one.
    """
    if kind := _find_kind(row):
        return kind
    texts = [get_text(row, "subject"), get_text(row, "text")]
    if not (text := "\n".join(filter(None, map(_cut_placeholders, texts)))):
        # A message that was unsent is edited, and has nothing left, not even the place of a file.
        return DELETED if _get_number(row, "date_edited") and not any(texts) else NO_WORDS
    metadata: dict[str, JSONValue] = {
        "attachments": _list_files(row),
        "reply_to": get_text(row, "thread_originator_guid"),
        "edited_at": format_time(_parse_date(_get_number(row, "date_edited"))),
    }
    return Message(
        text,
        "user",
        ME if _get_number(row, "is_from_me") else people.get(row["handle_id"], other),
        _parse_date(_get_number(row, "date")),
        id=get_text(row, "guid") or None,
        metadata=drop_empty(metadata),
    )


def _cut_placeholders(text: str) -> str:
    """Return a text without the places of files, which are lines by themselves; "" if it has no words."""
    if not text.strip(PLACEHOLDERS):
        return ""
    return "\n".join(filter(None, map(str.strip, text.split(ATTACHMENT)))) if ATTACHMENT in text else text


def _list_files(row: Record) -> list[JSONValue]:
    """Return the names of a message's files, without the previews of links."""
    names = json.loads(get_text(row, "files") or "[]")
    return [PurePosixPath(name).name for name in names if isinstance(name, str) and not name.endswith(LINK_PREVIEW)]


def _parse_date(value: int) -> datetime | None:
    """Return the time of a number of nanoseconds since 2001, or of seconds if it is small; None for 0."""
    micros = value * 10**6 if abs(value) < _MAX_SECONDS else value // 1000
    return parse_epoch(micros + _EPOCH_S * 10**6, per_second=10**6) if value else None


def _get_number(row: Record, name: str) -> int:
    value = row[name]
    return value if isinstance(value, int) else 0
