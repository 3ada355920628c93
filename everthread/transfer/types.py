"""The contents of a file of conversations, and the result of importing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from everthread.types import Role

DATE_ORDERS = {"dmy": "day", "mdy": "month", "ymd": "year"}  # what comes first


@dataclass(frozen=True, slots=True)
class FileConversation:
    """A conversation in a file. messages does not count those that were edited or regenerated away; opening is the
    beginning of the first of them that has words."""

    id: str
    title: str | None
    messages: int
    first_at: datetime | None
    last_at: datetime | None
    opening: str = ""


@dataclass(frozen=True, slots=True)
class FileSpeaker:
    """A speaker in a file, with the number of their messages."""

    name: str
    role: Role
    messages: int


@dataclass(frozen=True, slots=True)
class AmbiguousDate:
    """An example of dates in a file that may be read in two orders of day, month and year.

    Attributes:
        text: the date in the file.
        order: the order in which it was read, such as "dmy".
        day: the date in this order.
        other_order: an order that fits the file as well.
        other_day: the date in that order.
    """

    text: str
    order: str
    day: date
    other_order: str
    other_day: date


@dataclass(frozen=True, slots=True)
class FileContents:
    """The contents of a file of conversations, listed before it is imported.

    Attributes:
        services: the names of the services that exported it; none for a file in another format.
        conversations: the conversations, in the order of the file.
        messages: the messages that would be imported as lines.
        retracted: the messages that were edited or regenerated away, which would be imported as retracted lines.
        first_at, last_at: the times of the first and of the last message; None if none has a time.
        speakers: the speakers, the most frequent first.
        me: the speaker whose file it probably is; None if the file does not say.
        assistant: the speaker who is the chatbot; None if no speaker is one.
        skipped: the number of entries of the file that are not lines, by kind.
        broken: the conversations that can't be read and would be left out: the reason, by title.
        units: the number of facts and notes of another memory.
        ambiguous_dates: an example of the dates of a chat that may be read in two orders, by the chat's title.
    """

    services: tuple[str, ...]
    conversations: tuple[FileConversation, ...]
    messages: int
    retracted: int
    first_at: datetime | None
    last_at: datetime | None
    speakers: tuple[FileSpeaker, ...]
    me: str | None
    assistant: str | None
    skipped: Mapping[str, int]
    broken: Mapping[str, str]
    units: int = 0
    ambiguous_dates: Mapping[str, AmbiguousDate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing a file.

    Attributes:
        read: lines in the file.
        added: lines that are new to the bank.
        skipped: the number of entries of the file that are not lines, by kind.
        lines: lines in the bank afterwards.
        broken: the conversations of an export that could not be read and were left out: the reason, by title.
        units: facts and notes of another memory that are new to the bank.
        ambiguous_dates: as of `FileContents`.
        seqs: the numbers of the added lines, by which `forget` undoes the import; none if a bank was restored from its
            export.
    """

    read: int
    added: int
    skipped: Mapping[str, int]
    lines: int
    broken: Mapping[str, str] = field(default_factory=dict)
    units: int = 0
    ambiguous_dates: Mapping[str, AmbiguousDate] = field(default_factory=dict)
    seqs: tuple[int, ...] = ()
