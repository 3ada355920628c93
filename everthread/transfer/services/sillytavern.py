"""Reads chats of SillyTavern: a file of JSON Lines for each, whose first row describes the chat, except in old groups.

Rows have no ids. They are recognised by their date, their speaker and their text, so that the beginning that a
checkpoint or a branch shares with its chat is imported once. Swipes, except the one that is shown, are other branches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_records, get_text, parse_epoch
from everthread.types import JSONValue, Metadata, Role

_UNUSED = "unused"  # recent headers have it in place of names
_NARRATOR = "narrator"
_BACKUPS = "backups"  # the folder of earlier states of chats, which have lines that were edited or deleted since
_DASHED = re.compile(  # "2024-6-5 @14h 56m 50s 682ms" or "2024-07-12@01h31m37s"
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m(?: ?(\d{1,2})s)?(?: ?(\d{1,3})ms)?"
)
_MACRO = re.compile(r"\{\{(user|char)\}\}|<(user|bot|char)>", re.IGNORECASE)


def recognises(export: Export) -> bool:
    """Return whether there is a chat of SillyTavern."""
    return any(_is_chat(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats; a checkpoint or a branch comes after the chats that are neither. Backups only without chats."""
    known: set[str | None] = set()
    files = [file for file in export.files if _is_chat(file)]
    current = [file for file in files if _BACKUPS not in file.name.split("/")[:-1]]
    for file in sorted(current or files, key=_is_branch):
        rows = [value for _, value in file.rows()]
        broken = next((row for row in rows if isinstance(row, BadFile)), None)
        if broken is not None and options.strict:
            yield BrokenConversation(file.name, str(broken))
            continue
        try:
            chat = build_chat(file.name, rows)
        except BadFile as error:
            yield BrokenConversation(file.name, str(error))
            continue
        yield _drop_known_swipes(chat, known)
        known.update(message.id for message in chat.messages)


def build_chat(name: str, rows: Sequence[object]) -> Conversation:
    """Build the conversation of a chat.

    Args:
        name: the name of its file.
        rows: the values of its rows, and for a row that is not JSON a BadFile.

    Raises:
        BadFile: no row is a message.
    """
    records = [row for row in rows if isinstance(row, dict)]
    header = records[0] if records and "mes" not in records[0] else {}
    messages = [row for row in records if "mes" in row]
    if not messages and not header:
        raise BadFile("no row is a message of SillyTavern")
    skipped = Counter({"broken lines": len(rows) - len(messages) - bool(header)})
    names = _Names(header, messages)
    stem = PurePosixPath(name).name.removesuffix(".bak").removesuffix(".jsonl")
    character = names.character
    return Conversation(
        id=stem if character is None or character in stem else f"{character} - {stem}",
        messages=list(_build_messages(messages, names, skipped)),
        title=get_text(get_record(header, "chat_metadata"), "title") or character or stem,
        started_at=parse_date(header.get("create_date")),
        skipped=+skipped,
        owner=names.user,
        namespace=character or "",
    )


def parse_date(value: object) -> datetime | None:
    """Return the date of a row, without a zone if it is local time; None without one.

    Args:
        value: "June 2, 2024 8:11pm", "2024-6-5 @14h 56m 50s 682ms", ISO 8601, or milliseconds since 1970.
    """
    if not isinstance(value, str) or value.isdecimal():
        return parse_epoch(value, per_second=1000)
    if match := _DASHED.fullmatch(value.strip()):
        year, month, day, hour, minute, second, millis = (int(part or 0) for part in match.groups())
        try:
            return datetime(year, month, day, hour, minute, second, millis * 1000)
        except ValueError:
            return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        pass
    try:
        return parse_moment(value).replace(tzinfo=None)
    except ValueError:
        return None


class _Names:
    """The names of a chat's user and of its character.

    Attributes:
        user: the name of the user; None if the user says nothing.
        character: the name of the character; None in a group.
    """

    def __init__(self, header: Record, rows: Sequence[Record]) -> None:
        said = [row for row in rows if not _is_notice(row) and get_record(row, "extra").get("type") != _NARRATOR]
        users = [get_text(row, "name") for row in said if row.get("is_user") is True]
        characters = {get_text(row, "name"): None for row in said if row.get("is_user") is not True}
        is_group = len(characters) > 1 and any("original_avatar" in row for row in rows)
        self.user = _header_name(header, "user_name") or next((name for name in users if name), None)
        self.character = _header_name(header, "character_name") or next((name for name in characters if name), None)
        if is_group:
            self.character = None

    def fill(self, text: str, row: Record) -> str:
        """Return a text with the names in place of macros."""
        speaker = get_text(row, "name")
        character = self.character if row.get("is_user") is True or self.character else speaker

        def name(match: re.Match[str]) -> str:
            is_user = (match[1] or match[2]).lower() == "user"
            return (self.user if is_user else character) or match[0]

        return _MACRO.sub(name, text)


def _header_name(header: Record, field: str) -> str | None:
    name = get_text(header, field)
    return name if name and name != _UNUSED else None


def _drop_known_swipes(chat: Conversation, known: Collection[str | None]) -> Conversation:
    """Return a chat without the swipes beside lines of other chats, which show another swipe than a branch may."""
    messages = [
        message for message in chat.messages if message.shown or not (message.id in known or message.parent in known)
    ]
    return replace(chat, messages=messages)


def _build_messages(rows: Sequence[Record], names: _Names, skipped: Counter[str]) -> Iterator[Message]:
    """Yield the messages of a chat, and count the other rows."""
    parent: str | None = None
    occurrences: Counter[str] = Counter()
    for row in rows:
        if _is_notice(row):
            skipped["calls of tools" if get_list(get_record(row, "extra"), "tool_invocations") else "notices"] += 1
            continue
        shown: str | None = None
        for text, date, is_shown in _list_swipes(row):
            text = names.fill(text, row)
            if row.get("is_user") is not True:
                text, thoughts = cut_thoughts(text)
                skipped["thoughts"] += thoughts
            if not text.strip():
                skipped["messages without text"] += is_shown
                continue
            said_at = parse_date(date)
            base = hash_parts("" if said_at else parent, str(date), get_text(row, "name"), text)
            occurrences[base] += 1
            message_id = base if occurrences[base] == 1 else f"{base}-{occurrences[base]}"
            shown = message_id if is_shown else shown
            yield _build_message(row, text, said_at, message_id, parent, is_shown)
        skipped["thoughts"] += bool(get_text(get_record(row, "extra"), "reasoning"))
        parent = shown or parent


def _build_message(
    row: Record, text: str, said_at: datetime | None, message_id: str, parent: str | None, is_shown: bool
) -> Message:
    is_narrator = get_record(row, "extra").get("type") == _NARRATOR
    role: Role = "user" if row.get("is_user") is True else "system" if is_narrator else "assistant"
    return Message(
        text,
        role,
        get_text(row, "name") or role,
        said_at,
        message_id,
        parent,
        is_shown,
        _read_metadata(row),
    )


def _list_swipes(row: Record) -> Iterator[tuple[str, object, bool]]:
    """Yield the text, the date, and whether it is shown, of each version of a row, beginning with the shown one."""
    text, date, number = _read_text(row.get("mes")), row.get("send_date"), row.get("swipe_id")
    yield text, date, True
    seen = {text}
    swipes = zip_longest(get_list(row, "swipes"), get_records(row, "swipe_info"), fillvalue=None)
    for index, (swipe, info) in enumerate(swipes):
        other = _read_text(swipe)
        if index != number and other and other not in seen:
            seen.add(other)
            yield other, get_record(info).get("send_date") or date, False


def _read_text(value: object) -> str:
    """Return the text of a message or a swipe, which is in an object in chats that were imported from Chub."""
    text = value.get("message") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else ""


def _read_metadata(row: Record) -> Metadata:
    extra = get_record(row, "extra")
    files = (get_record(extra, "file"), *get_records(extra, "files"), *get_records(extra, "media"))
    names = [get_text(file, "name", "title") or PurePosixPath(get_text(file, "url")).name for file in files]
    names.append(PurePosixPath(get_text(extra, "image")).name)
    attachments = [name for name in names if name and not name.startswith("data:")]
    fields: dict[str, JSONValue] = {
        "attachments": attachments,
        "avatar": get_text(row, "original_avatar"),
        "model": get_text(extra, "model"),
        "hidden": row.get("is_system") is True,
    }
    return {name: value for name, value in fields.items() if value}


def _is_notice(row: Record) -> bool:
    """Return whether SillyTavern itself wrote a row, or the user as a comment. The command /hide sets the same flag."""
    extra = get_record(row, "extra")
    kind = extra.get("type")
    is_own = bool(kind and kind != _NARRATOR) or bool(get_list(extra, "tool_invocations"))
    return row.get("is_system") is True and (is_own or row.get("name") == "SillyTavern System")


def _first_row(file: ExportFile) -> Record:
    head = file.head
    if head is None and file.name.endswith(".bak") and file.has_rows:
        head = next(file.rows())[1]
    return head if isinstance(head, dict) else {}


def _is_chat(file: ExportFile) -> bool:
    row = _first_row(file)
    is_message = "mes" in row and "is_user" in row
    is_header = "chat_metadata" in row or {"user_name", "character_name"} <= row.keys()
    return is_message or (is_header and file.has_rows)


def _is_branch(file: ExportFile) -> bool:
    return bool(get_record(_first_row(file), "chat_metadata").get("main_chat"))
