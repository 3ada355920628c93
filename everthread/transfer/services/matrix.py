"""Matrix rooms, as Element exports them in JSON: the events of a room.

People have the last name that they have in the export. A message that was edited has its last words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.entries import (
    DELETED,
    NO_WORDS,
    NOTICES,
    REACTIONS,
    drop_empty,
    fill_conversation,
    format_time,
    get_id,
)
from everthread.transfer.services.export import Export
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_epoch
from everthread.types import JSONValue

MESSAGE = "m.room.message"
SPOKEN = ("m.text", "m.notice", "m.emote")  # types of messages whose body is what was said
FILES = ("m.image", "m.file", "m.audio", "m.video")  # whose body is the file's name, or words about the file
SKIPPED = {
    "m.room.encrypted": "messages that were not decrypted",
    "m.reaction": REACTIONS,
    "m.sticker": NO_WORDS,
}


def recognises(export: Export) -> bool:
    """Return whether an export has rooms of Matrix."""
    return any(_is_room(get_record(file.head)) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the rooms."""
    for file in export.files:
        if _is_room(head := get_record(file.head)):
            yield from convert_room(head, file.items("messages"))


def convert_room(export: Record, events: Iterable[object]) -> Iterator[Entry]:
    """Yield the conversation of a room, and the events that can't be read.

    Args:
        export: the export, with the room's name.
        events: the events of the room.
    """
    listed = list(events)
    room = _Room([get_record(event) for event in listed])
    title = get_text(export, "room_name")
    owner = get_text(export, "exported_by") or None
    return fill_conversation(Conversation(room.id or title, (), title or None, owner=owner), listed, room.convert)


def _is_room(head: Record) -> bool:
    first = next(iter(get_records(head, "messages")), {})
    return {"event_id", "origin_server_ts"} <= first.keys() or {"room_name", "messages", "exported_by"} <= head.keys()


class _Room:
    """The events of a room whose meaning depends on other events."""

    def __init__(self, events: Sequence[Record]) -> None:
        self.id = next((id for event in events if (id := get_id(event, "room_id"))), "")
        self._senders = {get_id(event, "event_id"): get_text(event, "sender") for event in events}
        self._names = {  # of people, by their ids
            get_text(event, "state_key"): name
            for event in events
            if event.get("type") == "m.room.member" and (name := get_text(get_record(event, "content"), "displayname"))
        }
        self._edits: dict[str, Record] = {}  # the last edit of each edited event, by the event's id
        for event in sorted(filter(_is_edit, events), key=_sent_at):
            sender, target = get_text(event, "sender"), _edited_id(event)
            if self._senders.get(target, sender) == sender:
                self._edits[target] = event

    def convert(self, event: Record) -> Message | str | None:
        """Return a message, the kind of another event, or None for an edit of another event."""
        if (type := get_text(event, "type")) != MESSAGE:
            return SKIPPED.get(type, NOTICES)
        if not get_record(event, "content") or "redacted_because" in get_record(event, "unsigned"):
            return DELETED
        id = _edited_id(event) if _is_edit(event) else get_id(event, "event_id")
        if _is_edit(event) and id in self._senders:
            return None
        return self._convert_message(event, id, self._edits.get(id))

    def _convert_message(self, event: Record, id: str, edit: Record | None) -> Message | str:
        content = get_record(event, "content")
        text, file = _read_words(get_record(edit, "content", "m.new_content") if edit else content)
        answered = get_id(get_record(content, "m.relates_to", "m.in_reply_to"), "event_id")
        if not (text := _cut_quote(text) if answered else text).strip():
            return NO_WORDS
        sender = get_text(event, "sender")
        metadata: dict[str, JSONValue] = {
            "sender_id": sender,
            "attachments": [file] if file else [],
            "reply_to": answered,
            "edited_at": format_time(parse_epoch(edit.get("origin_server_ts"), 1000) if edit else None),
        }
        return Message(
            text,
            "user",
            self._names.get(sender) or sender,
            parse_epoch(event.get("origin_server_ts"), 1000),
            id=id or None,
            metadata=drop_empty(metadata),
        )


def _read_words(content: Record) -> tuple[str, str]:
    """Return what was said, and the name of the file that came with it; "" for either that is absent."""
    kind, body, name = get_text(content, "msgtype"), get_text(content, "body"), get_text(content, "filename")
    if kind in FILES:
        return (body, name) if name and body != name else ("", name or body)
    return (body if kind in SPOKEN else ""), ""


def _is_edit(event: Record) -> bool:
    return event.get("type") == MESSAGE and get_record(event, "content", "m.relates_to").get("rel_type") == "m.replace"


def _edited_id(event: Record) -> str:
    return get_id(get_record(event, "content", "m.relates_to"), "event_id")


def _cut_quote(text: str) -> str:
    """Return an answer without the quotation before it, which repeats the message that it answers."""
    lines = text.split("\n")
    quoted = next((number for number, line in enumerate(lines) if not line.startswith("> ")), len(lines))
    return "\n".join(lines[quoted:]).lstrip("\n") if quoted else text


def _sent_at(event: Record) -> datetime:
    return parse_epoch(event.get("origin_server_ts"), 1000) or datetime.min.replace(tzinfo=UTC)
