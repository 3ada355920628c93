"""Builds databases of Apple's Messages app, with the tables and the columns of macOS. The owner talks with Bob."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Row = dict[str, Any]

EPOCH = datetime(2001, 1, 1, tzinfo=UTC)
NANOSECONDS = 10**9  # in a second
GUID = "iMessage;-;Bob"
CHATS: Sequence[Row] = ({"ROWID": 1, "guid": GUID, "chat_identifier": "Bob", "style": 45},)
HANDLES: Sequence[Row] = ({"ROWID": 1, "id": "Bob", "service": "iMessage"},)
MEMBERS: Sequence[tuple[int, int]] = ((1, 1),)  # chat, handle
SCHEMA = """
    CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT, subject TEXT,
        attributedBody BLOB, handle_id INTEGER DEFAULT 0, service TEXT, date INTEGER, date_read INTEGER,
        is_from_me INTEGER DEFAULT 0, is_system_message INTEGER DEFAULT 0, cache_has_attachments INTEGER DEFAULT 0,
        item_type INTEGER DEFAULT 0, group_title TEXT, associated_message_guid STRING DEFAULT NULL,
        associated_message_type INTEGER DEFAULT 0, message_summary_info BLOB DEFAULT NULL,
        thread_originator_guid TEXT DEFAULT NULL, date_retracted INTEGER DEFAULT 0, date_edited INTEGER DEFAULT 0);
    CREATE TABLE handle (ROWID INTEGER PRIMARY KEY AUTOINCREMENT UNIQUE, id TEXT NOT NULL, service TEXT NOT NULL,
        UNIQUE (id, service));
    CREATE TABLE chat (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, style INTEGER,
        chat_identifier TEXT, service_name TEXT, display_name TEXT);
    CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, message_date INTEGER DEFAULT 0,
        PRIMARY KEY (chat_id, message_id));
    CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER, UNIQUE (chat_id, handle_id));
    CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, filename TEXT, transfer_name TEXT);
    CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER,
        UNIQUE (message_id, attachment_id));
"""


def typedstream(words: str, is_mutable: bool = False) -> bytes:
    """Return an attributed string with these words in Apple's typedstream format, without styles."""
    raw = words.encode()
    size = len(raw)
    if size < 2**7:
        length = bytes([size])
    else:
        length = b"\x81" + size.to_bytes(2, "little") if size < 2**15 else b"\x82" + size.to_bytes(4, "little")
    start = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84"
    plain = b"\x12NSAttributedString\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84\x08NSString\x01\x94\x84\x01+"
    mutable = (
        b"\x19NSMutableAttributedString\x00\x84\x84\x12NSAttributedString\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84"
        b"\x84\x0fNSMutableString\x01\x84\x84\x08NSString\x01\x95\x84\x01+"
    )
    end = b"\x86\x84\x02iI\x01\x01\x92\x84\x84\x84\x0cNSDictionary\x00\x94\x84\x01i\x00\x86\x86"
    return start + (mutable if is_mutable else plain) + length + raw + end


def date(moment: datetime) -> int:
    """Return a time as the app writes it."""
    return int((moment - EPOCH).total_seconds()) * NANOSECONDS


def fill(db: sqlite3.Connection, messages: Iterable[Row], **tables: Any) -> None:
    """Create the tables, and insert messages, and the rows of the tables `chats`, `handles` and `members`."""
    db.executescript(SCHEMA)
    for chat in tables.get("chats", CHATS):
        insert(db, "chat", chat)
    for handle in tables.get("handles", HANDLES):
        insert(db, "handle", handle)
    db.executemany("INSERT INTO chat_handle_join VALUES (?, ?)", tables.get("members", MEMBERS))
    add_messages(db, messages)


def add_messages(db: sqlite3.Connection, messages: Iterable[Row]) -> None:
    """Insert messages. Their `chats` are rows of chats, and their `files` attachments."""
    for message in messages:
        chats, files = message.get("chats", (1,)), message.get("files", ())
        fields = {name: value for name, value in message.items() if name not in ("chats", "files")}
        number = insert(db, "message", fields)
        for chat in chats:
            insert(db, "chat_message_join", {"chat_id": chat, "message_id": number})
        for file in files:
            link = {"message_id": number, "attachment_id": insert(db, "attachment", file)}
            insert(db, "message_attachment_join", link)
    db.commit()


def insert(db: sqlite3.Connection, table: str, fields: Row) -> int:
    """Insert a row, and return its number."""
    marks = ", ".join("?" * len(fields))
    cursor = db.execute(f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({marks})", list(fields.values()))
    return cursor.lastrowid or 0


def save_database(path: Path, messages: Iterable[Row], **tables: Any) -> Path:
    """Write a database, and return its path."""
    with closing(sqlite3.connect(path)) as db:
        fill(db, messages, **tables)
    return path


def build_database(messages: Iterable[Row], **tables: Any) -> bytes:
    """Return the bytes of a database."""
    with TemporaryDirectory() as folder:
        return save_database(Path(folder, "chat.db"), messages, **tables).read_bytes()
