"""Signal's chats: the export of its apps (`main.jsonl`), and the files that signal-export writes (`data.json`).

In an app's export, each row is a person, a group, a chat or a message; ids hold in that file only. Messages that
disappear are left out, unless they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import islice

from everthread.errors import BadFile
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    CALLS,
    DELETED,
    NO_WORDS,
    NOTICES,
    Collector,
    drop_empty,
    fill_conversation,
    format_time,
    get_id,
)
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_epoch, parse_iso
from everthread.transfer.services.message_spool import SpoolFile
from everthread.types import JSONValue

ME = "Me"  # the owner of an export that does not name them, as signal-export writes it
SIGNAL = "Signal"  # the sender of its news
UNKNOWN = "Unknown"  # a person without a name or a number, as the app shows it
DISAPPEARING = "disappearing messages"
MENTION = "\ufffc"  # the place of a name in a text
FRAMES = {"account": "profileKey", "recipient": "id", "chat": "recipientId", "chatItem": "chatId"}  # with a member each
ROWS_BEFORE_FRAMES = 3  # among which a frame is: the version of the export comes first
_STABLE_IDS = ("aci", "pni", "e164", "masterKey", "username")  # of a person or a group, in all exports


def recognises(export: Export) -> bool:
    """Return whether an export has chats of Signal."""
    return any(_is_backup(file) or _is_folder(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats."""
    for file in export.files:
        if _is_backup(file):
            yield from convert_backup((row for _, row in file.rows()), options.disappearing)
        elif _is_folder(file):
            yield from convert_folder(file.folder, (row for _, row in file.rows()), options.tz)


def convert_backup(rows: Iterable[object], disappearing: bool = False) -> Iterator[Entry]:
    """Yield the chats of an app's export, and the rows that can't be read.

    Args:
        rows: the rows; an error for one that is not JSON.
        disappearing: whether messages that were to disappear are read, too.
    """
    backup = _Backup(disappearing)
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            backup.add(row)
        else:
            yield BrokenConversation(f"row {number}", str(row) if isinstance(row, BadFile) else "expected an object")
    yield from backup.conversations()


def convert_folder(folder: str, rows: Iterable[object], tz: tzinfo) -> Iterator[Entry]:
    """Yield a chat that signal-export wrote, and the messages that can't be read.

    Args:
        folder: the name of its folder, which is the chat's name.
        rows: the messages; an error for one that is not JSON.
        tz: the zone of the computer that wrote them.
    """
    conversation = Conversation(folder, (), title=folder, owner=ME)
    return fill_conversation(conversation, rows, lambda row: _convert_row(row, tz))


class _Backup:
    """The rows of an app's export, in their order: a row that others refer to comes before them."""

    def __init__(self, disappearing: bool) -> None:
        self._disappearing = disappearing
        self._owner = ME
        self._names: dict[str, str] = {}  # recipient -> name
        self._ids: dict[str, str] = {}  # recipient -> the id that it has in all exports
        self._recipients: dict[str, str] = {}  # chat -> recipient
        self._file = SpoolFile()
        self._chats: dict[str, Collector] = {}

    def add(self, row: Record) -> None:
        """Add a row."""
        if account := get_record(row, "account"):
            self._owner = _join_name(account, "givenName", "familyName") or get_text(account, "username") or ME
        elif recipient := get_record(row, "recipient"):
            self._add_recipient(recipient)
        elif chat := get_record(row, "chat"):
            self._recipients[get_id(chat, "id")] = get_id(chat, "recipientId")
        elif item := get_record(row, "chatItem"):
            chat_id = get_id(item, "chatId")
            if chat_id not in self._chats:
                self._chats[chat_id] = Collector(file=self._file)
            self._chats[chat_id].add(item, self._convert_item)

    def conversations(self) -> Iterator[Entry]:
        """Yield the chats with their messages."""
        for chat, collector in self._chats.items():
            recipient = self._recipients.get(chat, "")
            title = self._names.get(recipient, "")
            id = self._ids.get(recipient) or title or chat
            yield from collector.fill(Conversation(id, (), title=title or None, owner=self._owner))

    def _add_recipient(self, recipient: Record) -> None:
        id, contact, group = get_id(recipient, "id"), get_record(recipient, "contact"), get_record(recipient, "group")
        if "self" in recipient:
            self._names[id], self._ids[id] = self._owner, "self"
        elif group:
            self._names[id] = get_text(get_record(group, "snapshot", "title"), "title")
        else:
            self._names[id] = SIGNAL if "releaseNotes" in recipient else _name_contact(contact)
        self._ids.setdefault(id, next((value for name in _STABLE_IDS if (value := get_id(contact or group, name))), ""))

    def _convert_item(self, item: Record) -> Message | str:
        """Return a message, or the kind of an entry that is no message."""
        if kind := _find_kind(item):
            return kind
        if not self._disappearing and get_id(item, "expiresInMs") not in ("", "0"):
            return DISAPPEARING
        message = get_record(item, "standardMessage")
        text = get_record(message, "text") or get_record(item, "directStoryReplyMessage", "textReply", "text")
        if not (words := self._insert_names(text)):
            return NO_WORDS
        author, first, last = get_id(item, "authorId"), *_find_versions(item)
        quote = get_record(message, "quote")
        answered = get_id(quote, "targetSentTimestamp")
        files = [get_text(get_record(file, "pointer"), "fileName") for file in get_records(message, "attachments")]
        attachments: list[JSONValue] = [name for name in files if name]
        metadata: dict[str, JSONValue] = {
            "attachments": attachments,
            "reply_to": self._make_id(answered, get_id(quote, "authorId")) if answered else "",
            "edited_at": format_time(parse_epoch(last, 1000)) if last != first else "",
        }
        said_at = parse_epoch(first, 1000)
        speaker = self._names.get(author) or (self._owner if "outgoing" in item else UNKNOWN)
        return Message(words, "user", speaker, said_at, id=self._make_id(first, author), metadata=drop_empty(metadata))

    def _insert_names(self, text: Record) -> str:
        """Return a text with the names of the people that it mentions."""
        body = get_text(text, "body")
        mentions = [style for style in get_records(text, "bodyRanges") if "mentionAci" in style]
        for mention in sorted(mentions, key=lambda style: get_id(style, "start").zfill(8)):
            recipient = next((key for key, id in self._ids.items() if id == mention["mentionAci"]), "")
            body = body.replace(MENTION, f"@{self._names.get(recipient, '')}", 1)
        return body

    def _make_id(self, sent: str, author: str) -> str:
        return f"{sent}:{self._ids.get(author) or self._names.get(author) or author}"


def _convert_row(row: Record, tz: tzinfo) -> Message | str:
    """Return a message that signal-export wrote, or the kind of another entry."""
    if row.get("deleted") is True:
        return DELETED
    if row.get("call") is True:
        return CALLS
    if not (text := get_text(row, "body").removesuffix("  ")):  # ends with a break in Markdown
        return NO_WORDS
    files: list[JSONValue] = [get_text(file, "name") for file in get_records(row, "attachments")]
    said_at = parse_iso(row.get("date"), tz)
    return Message(text, "user", get_text(row, "sender"), said_at, metadata=drop_empty({"attachments": files}))


def _find_kind(item: Record) -> str:
    """Return the kind of an entry that is no message to import; "" if it may be one."""
    if "remoteDeletedMessage" in item or "adminDeletedMessage" in item:
        return DELETED
    if "updateMessage" in item:
        return CALLS if {"individualCall", "groupCall"} & get_record(item, "updateMessage").keys() else NOTICES
    return ""


def _find_versions(item: Record) -> tuple[str, str]:
    """Return when the first and the last version of a message were sent."""
    sent = [get_id(version, "dateSent") for version in (*get_records(item, "revisions"), item)]
    sent.sort(key=lambda digits: (len(digits), digits))
    return sent[0], sent[-1]


def _name_contact(contact: Record) -> str:
    """Return the name of a person as the app shows it: given by the owner, in the address book, or by the person."""
    phone = get_id(contact, "e164")
    return (
        _join_name(get_record(contact, "nickname"), "given", "family")
        or _join_name(contact, "systemGivenName", "systemFamilyName")
        or _join_name(contact, "profileGivenName", "profileFamilyName")
        or get_text(contact, "username")
        or (f"+{phone.removeprefix('+')}" if phone else "")
    )


def _join_name(record: Record, *fields: str) -> str:
    return " ".join(name for field in fields if (name := get_text(record, field).strip()))


def _is_backup(file: ExportFile) -> bool:
    """Return whether a file has the rows of an app's export, which begins with its version or its account."""
    first = [get_record(row) for _, row in islice(file.rows(), ROWS_BEFORE_FRAMES)] if file.has_rows else []
    return any(name in get_record(row, frame) for row in first for frame, name in FRAMES.items())


def _is_folder(file: ExportFile) -> bool:
    head = get_record(file.head)
    return {"date", "sender", "body", "quote", "attachments"} <= head.keys()
