"""Collects the messages of a linear conversation from the entries of a messenger's export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from everthread.errors import BadFile
from everthread.transfer.files import describe_json
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message
from everthread.transfer.services.fields import Record
from everthread.transfer.services.message_spool import MessageSpool, SpoolFile
from everthread.types import JSONValue, Metadata

NO_WORDS = "messages without words"  # kinds of skipped entries that several services have
NOTICES = "notices"
DELETED = "deleted messages"
CALLS = "calls"
REACTIONS = "reactions"

# Returns the message of an entry, the kind of an entry that is no message, or None if it only belongs to another entry.
Converter = Callable[[Record], Message | str | None]


class Collector:
    """Collects messages, counts the other entries, and names those that can't be read."""

    def __init__(self, may_be_reversed: bool = False, file: SpoolFile | None = None) -> None:
        """Begin without entries.

        Args:
            may_be_reversed: whether they may come from the last to the first.
            file: the file of the messages, which several collectors may share.
        """
        self._may_be_reversed = may_be_reversed
        self._count = 0
        self._messages = MessageSpool(file)
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
            self._messages.add(converted)

    def fill(self, conversation: Conversation) -> Iterator[Entry]:
        """Yield a conversation with the messages in order of time, and the entries that can't be read."""
        self._messages.sort(self._may_be_reversed)
        yield replace(conversation, messages=self._messages, skipped=self._skipped)
        for number, entry in self._broken:
            name = f"{conversation.title or conversation.id}, message {number}"
            reason = str(entry) if isinstance(entry, BadFile) else f"expected an object, got {describe_json(entry)}"
            yield BrokenConversation(name, reason)


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
