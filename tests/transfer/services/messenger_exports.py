"""Builds small exports of messengers, with the fields that the services write: Ann and Bob talk, a message a minute."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from everthread.transfer.importing import check_file
from everthread.types import NewLine
from transfer.services.messages_database import build_database, date, typedstream

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
ANN, BOB = "Ann", "Bob"

Files = dict[str, bytes]
JSON = dict[str, Any]


def said_at(number: int) -> datetime:
    """Return the time of a message."""
    return START + timedelta(minutes=number)


def millis(number: int) -> int:
    """Return the time of a message in milliseconds since 1970."""
    return int(said_at(number).timestamp()) * 1000


def speaker(number: int) -> str:
    """Return the name of the person who sent a message."""
    return (BOB, ANN)[number % 2]


def text(number: int) -> str:
    """Return the text of a message."""
    return f"Message {number}: the fern by the window needs water, and the boat a coat of paint."


def to_json(value: object) -> bytes:
    """Return a value as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode()


def to_rows(values: Iterable[object]) -> bytes:
    """Return values as JSON Lines."""
    return b"".join(to_json(value) + b"\n" for value in values)


def discord_message(number: int, **fields: Any) -> JSON:
    """Build a message of Discord."""
    author = {"id": f"{number % 2}", "name": speaker(number).lower(), "nickname": speaker(number), "isBot": False}
    message = {"id": str(1000 + number), "type": "Default", "timestamp": said_at(number).isoformat(), "author": author}
    return {**message, "timestampEdited": None, "content": text(number), "attachments": [], **fields}


def discord_export(messages: Iterable[object], **channel: Any) -> JSON:
    """Build the export of a direct chat of Discord."""
    guild = {"id": "0", "name": "Direct Messages"}
    return {"guild": guild, "channel": {"id": "7", "name": BOB, **channel}, "messages": list(messages)}


def thread_message(number: int, **fields: Any) -> JSON:
    """Build a message of Messenger."""
    return {"sender_name": speaker(number), "timestamp_ms": millis(number), "content": text(number), **fields}


def thread_export(messages: Iterable[object], **fields: Any) -> JSON:
    """Build a file of a chat of Messenger, whose messages are given from the latest to the first."""
    people = [{"name": ANN}, {"name": BOB}]
    return {"participants": people, "messages": list(messages), "title": BOB, "thread_path": "inbox/bob_1", **fields}


def encrypted_message(number: int, **fields: Any) -> JSON:
    """Build a message of an encrypted chat of Messenger."""
    base = {"senderName": speaker(number), "timestamp": millis(number), "text": text(number), "isUnsent": False}
    return {**base, "media": [], "reactions": [], "type": "text", **fields}


def encrypted_export(messages: Iterable[object], **fields: Any) -> JSON:
    """Build an encrypted chat of Messenger."""
    return {"participants": [ANN, BOB], "threadName": "Bob_7", "messages": list(messages), **fields}


def telegram_message(number: int, **fields: Any) -> JSON:
    """Build a message of Telegram."""
    times = {"date": f"{said_at(number):%Y-%m-%dT%H:%M:%S}", "date_unixtime": str(millis(number) // 1000)}
    sender = {"from": speaker(number), "from_id": f"user{number % 2}"}
    return {"id": number, "type": "message", **times, **sender, "text": text(number), **fields}


def telegram_export(messages: Iterable[object], **fields: Any) -> JSON:
    """Build a chat of Telegram."""
    return {"name": BOB, "type": "personal_chat", "id": 8, "messages": list(messages), **fields}


def slack_message(number: int, **fields: Any) -> JSON:
    """Build a message of Slack."""
    sent = f"{millis(number) // 1000}.000000"
    return {"type": "message", "user": f"U{number % 2}", "ts": sent, "text": text(number), **fields}


SLACK_PEOPLE = to_json(
    [
        {"id": "U1", "name": "ann", "profile": {"display_name": ANN, "real_name": "Ann Miller"}},
        {"id": "U0", "name": "bob", "real_name": BOB, "profile": {"display_name": "", "real_name": BOB}},
        {"id": "U2", "name": "helper", "is_bot": True, "profile": {"real_name": "Helper"}},
    ]
)


def slack_export(messages: Iterable[object], **files: object) -> Files:
    """Build the files of an export of Slack with one day of one channel."""
    channels = to_json([{"id": "C1", "name": "garden", "members": ["U0", "U1"]}])
    lists = {"users.json": SLACK_PEOPLE, "channels.json": channels}
    return {**lists, "garden/2024-05-01.json": to_json(list(messages)), **{n: to_json(f) for n, f in files.items()}}


def matrix_event(number: int, **fields: Any) -> JSON:
    """Build a message of Matrix."""
    content = {"msgtype": "m.text", "body": text(number)}
    base = {"type": "m.room.message", "event_id": f"${number}", "room_id": "!garden:example.org", "content": content}
    return {**base, "sender": f"@{speaker(number).lower()}:example.org", "origin_server_ts": millis(number), **fields}


def matrix_member(name: str) -> JSON:
    """Build the event by which a person with this name joins a room of Matrix."""
    id = f"@{name.lower()}:example.org"
    base = {"type": "m.room.member", "event_id": f"${name}", "sender": id, "state_key": id}
    return {**base, "content": {"membership": "join", "displayname": name}, "origin_server_ts": millis(0)}


def matrix_export(events: Iterable[object], **fields: Any) -> JSON:
    """Build the export of a room of Matrix."""
    members = [matrix_member(ANN), matrix_member(BOB)]
    return {"room_name": "Garden", "exported_by": ANN, "messages": [*members, *events], **fields}


SIGNAL_FRAMES: list[JSON] = [
    {"version": "1", "backupTimeMs": str(millis(0))},
    {"account": {"profileKey": "a2V5", "givenName": ANN, "familyName": ""}},
    {"recipient": {"id": "1", "self": {}}},
    {"recipient": {"id": "2", "contact": {"aci": "Ym9i", "profileGivenName": BOB}}},
    {"chat": {"id": "5", "recipientId": "2"}},
]


def signal_item(number: int, **fields: Any) -> JSON:
    """Build the row of a message of Signal."""
    way: JSON = {"outgoing": {"sendStatus": []}} if speaker(number) == ANN else {"incoming": {"read": True}}
    base = {"chatId": "5", "authorId": "12"[speaker(number) == BOB], "dateSent": str(millis(number))}
    return {"chatItem": {**base, **way, "standardMessage": {"text": {"body": text(number)}}, **fields}}


def signal_row(number: int, **fields: Any) -> JSON:
    """Build a message as signal-export writes it."""
    base = {"date": said_at(number).replace(tzinfo=None).isoformat(), "sender": speaker(number).replace(ANN, "Me")}
    return {**base, "body": f"{text(number)}  ", "quote": "", "sticker": None, "attachments": [], **fields}


def imessage_row(number: int, **fields: Any) -> JSON:
    """Build the row of a message of Apple's Messages app, whose owner is Ann."""
    is_mine = speaker(number) == ANN
    texts = {"text": None, "attributedBody": typedstream(text(number))}
    base = {"guid": imessage_guid(number), "date": date(said_at(number)), "is_from_me": is_mine}
    return {"ROWID": number, **base, **texts, "handle_id": int(not is_mine), "service": "iMessage", **fields}


def imessage_guid(number: int) -> str:
    """Return the id of a message of Apple's Messages app."""
    return f"00000000-0000-0000-0000-{number:012}"


BUILDERS: Mapping[str, Callable[[Iterable[int]], Files]] = {  # exports of messages with these numbers
    "discord": lambda numbers: {"Bob.json": to_json(discord_export(map(discord_message, numbers)))},
    "messenger": lambda numbers: {
        "inbox/bob_1/message_1.json": to_json(thread_export(map(thread_message, reversed(list(numbers)))))
    },
    "messenger, encrypted": lambda numbers: {"Bob_7.json": to_json(encrypted_export(map(encrypted_message, numbers)))},
    "telegram": lambda numbers: {"result.json": to_json(telegram_export(map(telegram_message, numbers)))},
    "slack": lambda numbers: slack_export(map(slack_message, numbers)),
    "matrix": lambda numbers: {"export.json": to_json(matrix_export(map(matrix_event, numbers)))},
    "signal": lambda numbers: {"main.jsonl": to_rows([*SIGNAL_FRAMES, *map(signal_item, numbers)])},
    "imessage": lambda numbers: {"chat.db": build_database(map(imessage_row, numbers))},
    "signal, signal-export": lambda numbers: {"Bob/data.json": to_rows(map(signal_row, numbers))},
}


def save_files(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a zip archive, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def read_files(folder: Path, files: Mapping[str, bytes], **options: Any) -> tuple[list[NewLine], dict[str, int]]:
    """Return the lines of an export, and the number of skipped entries by kind."""
    source = check_file(save_files(folder / "export.zip", files), **options)
    return list(source.read()), dict(source.skipped)
