"""Collects the messages of a linear conversation from the entries of a messenger's export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from everthread.errors import BadFile
from everthread.transfer.files import describe_json
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message
from everthread.transfer.services.fields import Record
from everthread.types import JSONValue, Metadata

NO_WORDS = "messages without words"  # kinds of skipped entries that several services have
NOTICES = "notices"
DELETED = "deleted messages"
CALLS = "calls"
REACTIONS = "reactions"
_FIRST = datetime.min.replace(tzinfo=UTC)

# Returns the message of an entry, the kind of an entry that is no message, or None if it only belongs to another entry.
Converter = Callable[[Record], Message | str | None]


class Collector:
    """Collects messages, counts the other entries, and names those that can't be read."""

    def __init__(self, may_be_reversed: bool = False) -> None:
        """Begin without entries. They come from the first to the last, or perhaps the other way round."""
        self._may_be_reversed = may_be_reversed
        self._count = 0
        self._messages: dict[object, Message] = {}
        self._skipped = Counter[str]()
        self._broken: list[tuple[int, object]] = []

    def add(self, entry: object, convert: Converter) -> None:
        """Add an entry; a message with the id of an earlier one takes its place. An error is an entry that was lost."""
        self._count += 1
        if not isinstance(entry, Mapping):
            self._broken.append((self._count, entry))
            return
        converted = convert(entry)
        if isinstance(converted, str):
            self._skipped[converted] += 1
        elif converted is not None:
            self._messages[self._count if converted.id is None else converted.id] = converted

    def fill(self, conversation: Conversation) -> Iterator[Entry]:
        """Yield a conversation with the messages in order of time, and the entries that can't be read."""
        yield replace(conversation, messages=self._sort(), skipped=self._skipped)
        for number, entry in self._broken:
            name = f"{conversation.title or conversation.id}, message {number}"
            reason = str(entry) if isinstance(entry, BadFile) else f"expected an object, got {describe_json(entry)}"
            yield BrokenConversation(name, reason)

    def _sort(self) -> list[Message]:
        """Return the messages in order of time. A message without a time stays after the one before it."""
        messages = list(self._messages.values())
        if self._may_be_reversed and messages and _time_of(messages[0]) >= _time_of(messages[-1]):
            messages.reverse()
        timed, last = list[tuple[datetime, Message]](), _FIRST
        for message in messages:
            last = message.said_at or last
            timed.append((last, message))
        return [message for _, message in sorted(timed, key=lambda pair: pair[0])]


def _time_of(message: Message) -> datetime:
    return message.said_at or _FIRST


def fill_conversation(conversation: Conversation, entries: Iterable[object], convert: Converter) -> Iterator[Entry]:
    """Yield a conversation with the messages of entries, and the entries that can't be read."""
    collector = Collector()
    for entry in entries:
        collector.add(entry, convert)
    yield from collector.fill(conversation)


def get_id(record: Record, name: str) -> str:
    """Return an id, a text or a number, as text; "" if it is something else."""
    value = record.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def format_time(moment: datetime | None) -> str:
    """Return a time in ISO 8601 for metadata; "" without one."""
    return moment.isoformat() if moment else ""


def drop_empty(metadata: Mapping[str, JSONValue]) -> Metadata:
    """Return metadata without empty values, such as "", [] and False."""
    return {name: value for name, value in metadata.items() if value}
