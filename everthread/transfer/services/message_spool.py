"""Keeps the messages of a linear conversation in a temporary file, so that a chat of any length can be read."""

from __future__ import annotations

import json
import os
import weakref
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO, overload

from everthread.transfer.services.conversation import Message

MAX_BYTES_IN_MEMORY = 2**16  # of a file; a longer one is on the disk
_FIRST = datetime.min.replace(tzinfo=UTC)


class SpoolFile:
    """A temporary file of messages, which several conversations may share. It is removed with its last user."""

    def __init__(self) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(MAX_BYTES_IN_MEMORY)  # noqa: SIM115 (closed by `finalize`)
        weakref.finalize(self, self._file.close)

    def write(self, message: Message) -> int:
        """Add a message, without its time; return its place."""
        place = self._file.seek(0, os.SEEK_END)
        fields = message.text, message.role, message.speaker, message.id, message.metadata
        self._file.write(json.dumps(fields).encode() + b"\n")
        return place

    def read(self, place: int, said_at: datetime | None) -> Message:
        """Return the message at a place, with its time."""
        self._file.seek(place)
        text, role, speaker, id, metadata = json.loads(self._file.readline())
        return Message(text, role, speaker, said_at, id, metadata=metadata)


class MessageSpool(Sequence[Message]):
    """The messages of a linear conversation, of which only the times, the ids and the places are in memory."""

    def __init__(self, file: SpoolFile | None = None) -> None:
        """Begin without messages; their file is `file`, or a new one."""
        self._file = file or SpoolFile()
        self._places = array("q")
        self._times: list[datetime | None] = []
        self._numbers: dict[str, int] = {}  # by id

    def add(self, message: Message) -> None:
        """Add a message; one with the id of an earlier one takes its place."""
        place = self._file.write(message)
        number = len(self._places) if message.id is None else self._numbers.setdefault(message.id, len(self._places))
        if number == len(self._places):
            self._places.append(place)
            self._times.append(message.said_at)
        else:
            self._places[number], self._times[number] = place, message.said_at

    def sort(self, may_be_reversed: bool) -> None:
        """Order the messages by time, as the last change. A message without a time stays after the one before it.

        Args:
            may_be_reversed: whether they may have come from the last to the first.
        """
        numbers: Sequence[int] = range(len(self))
        if may_be_reversed and numbers and (self._times[0] or _FIRST) >= (self._times[-1] or _FIRST):
            numbers = numbers[::-1]
        filled: list[datetime] = []
        for number in numbers:
            filled.append(self._times[number] or (filled[-1] if filled else _FIRST))
        order = [numbers[index] for index in sorted(range(len(filled)), key=filled.__getitem__)]
        self._places = array("q", [self._places[number] for number in order])
        self._times = [self._times[number] for number in order]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        return self._file.read(self._places[index], self._times[index])

    def __iter__(self) -> Iterator[Message]:
        for place, said_at in zip(self._places, self._times, strict=True):
            yield self._file.read(place, said_at)
