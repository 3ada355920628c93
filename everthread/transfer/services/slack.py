"""Slack's exports: lists of people and channels, and a folder for each channel with a file for each day.

The time of a message is its id. It stays text, because a number would lose its last digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import chain

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    DELETED,
    NO_WORDS,
    NOTICES,
    drop_empty,
    fill_conversation,
    format_time,
    get_id,
)
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_records, get_text, parse_epoch
from everthread.types import JSONValue

CHANNEL_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
SPOKEN = frozenset(("", "bot_message", "thread_broadcast", "me_message", "file_share", "file_comment"))  # subtypes
_REFERENCE = re.compile(r"<([^<>]+)>")


@dataclass(frozen=True, slots=True)
class People:
    """The people and bots of a workspace.

    Attributes:
        names: the names that they show, by id.
        bots: the ids of bots.
    """

    names: Mapping[str, str]
    bots: frozenset[str]


def recognises(export: Export) -> bool:
    """Return whether an export has days of Slack's channels."""
    return any(map(_is_day, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the channels and direct chats, each with the messages of all its days."""
    people = convert_people(chain.from_iterable(file.items() for file in export.named("users.json")))
    channels = _read_channels(export)
    days: dict[str, list[ExportFile]] = {}
    for file in filter(_is_day, export.files):
        days.setdefault(file.folder_path or file.folder, []).append(file)
    for files in days.values():
        messages = chain.from_iterable(file.items() for file in sorted(files, key=lambda file: file.name))
        name = files[0].folder
        yield from convert_channel(channels.get(name, {}), name, messages, people)


def convert_people(users: Iterable[object]) -> People:
    """Return the people in the list of users."""
    people = {get_id(user, "id"): user for user in map(get_record, users)}
    names = {id: _name_user(user) or id for id, user in people.items()}
    return People(names, frozenset(id for id, user in people.items() if user.get("is_bot") is True))


def convert_channel(channel: Record, folder: str, messages: Iterable[object], people: People) -> Iterator[Entry]:
    """Yield the conversation of a channel or a direct chat, and the messages that can't be read.

    Args:
        channel: its entry in the list of channels; empty if it has none.
        folder: the name of its folder.
        messages: the messages of all its days.
        people: the people of the workspace.
    """
    members = [people.names.get(id, id) for id in get_list(channel, "members") if isinstance(id, str)]
    title = get_text(channel, "name") or ", ".join(members) or folder
    conversation = Conversation(get_id(channel, "id") or folder, (), title=title)
    return fill_conversation(conversation, messages, lambda message: _convert_message(message, people))


def _is_day(file: ExportFile) -> bool:
    """Return whether a file has the messages of a day, or of several."""
    messages = map(get_record, file.head if isinstance(file.head, list) else ())
    return any(message.get("type") == "message" and "ts" in message for message in messages)


def _read_channels(export: Export) -> dict[str, Record]:
    """Return the channels by the names of their folders: their names, or the ids of direct chats."""
    files = export.named(*CHANNEL_LISTS)
    channels = [get_record(channel) for file in files for channel in file.items()]
    return {get_text(channel, "name", "id"): channel for channel in channels}


def _convert_message(message: Record, people: People) -> Message | str:
    """Return a message, or the kind of an entry that is no message."""
    subtype, text = get_text(message, "subtype"), get_text(message, "text")
    if subtype == "tombstone":
        return DELETED
    if subtype not in SPOKEN:
        return NOTICES
    if not text:
        return NO_WORDS
    user, sent, thread = get_id(message, "user"), get_id(message, "ts"), get_id(message, "thread_ts")
    is_bot = subtype == "bot_message" or bool(message.get("bot_id")) or user in people.bots
    files: list[JSONValue] = [get_text(file, "name") for file in get_records(message, "files")]
    metadata: dict[str, JSONValue] = {
        "user_id": user or get_id(message, "bot_id"),
        "attachments": files,
        "reply_to": thread if thread != sent else "",
        "edited_at": format_time(parse_epoch(get_record(message, "edited").get("ts"))),
    }
    return Message(
        _plain_text(text, people.names),
        "assistant" if is_bot else "user",
        _name_sender(message, people.names),
        parse_epoch(sent),
        id=sent or None,
        metadata=drop_empty(metadata),
    )


def _name_sender(message: Record, names: Mapping[str, str]) -> str:
    """Return the name under which a message was sent."""
    user = get_id(message, "user")
    if name := get_text(message, "username") or names.get(user, ""):
        return name
    name = _name_profile(get_record(message, "user_profile")) or get_text(get_record(message, "bot_profile"), "name")
    return name or user or get_id(message, "bot_id")


def _name_user(user: Record) -> str:
    return _name_profile(get_record(user, "profile")) or get_text(user, "real_name", "name")


def _name_profile(profile: Record) -> str:
    return get_text(profile, "display_name", "real_name", "name").strip()


def _plain_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text as Slack shows it, without its marks; the address of a link follows the words of the link."""
    return unescape(_REFERENCE.sub(lambda match: _show_reference(match[1], names), text))


def _show_reference(reference: str, names: Mapping[str, str]) -> str:
    """Return a person, a channel, a group or a link as text."""
    target, _, label = reference.partition("|")
    kind, id = target[:1], target[1:]
    if kind == "@":
        return f"@{names.get(id) or label or id}"
    if kind == "#":
        return f"#{label or id}"
    if kind == "!":
        return label or f"@{id}"
    if not label or label in target:
        return target.removeprefix("mailto:")
    return f"{label} ({target})"
