"""Response models of imports."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from everthread.server.schemas import Span, View
from everthread.types import Role

DateOrder = Literal["dmy", "mdy", "ymd"]


class AmbiguousDateView(View):
    """An example of dates that may be read in two orders of day, month and year: as it was read, and the other date."""

    text: str
    order: DateOrder
    day: date
    other_order: DateOrder
    other_day: date


class ImportView(View):
    """The result of an import.

    seqs has the inclusive ranges of the numbers of the lines that were added, which `…/lines/forget` takes to undo the
    import; it is empty if a bank was restored from its export. skipped counts, by kind, what was not a line. broken
    names the conversations that could not be read and were left out, each with the reason. units counts new facts and
    notes of another memory. ambiguous_dates has an example for each chat whose dates may be read in two orders, by its
    title.
    """

    read: int
    added: int
    seqs: list[Span]
    skipped: dict[str, int]
    lines: int
    broken: dict[str, str]
    units: int
    ambiguous_dates: dict[str, AmbiguousDateView]


class FileConversationView(View):
    """A conversation in a file. messages does not count those that were edited or regenerated away; opening is the
    beginning of the first of them that has words."""

    id: str
    title: str | None
    messages: int
    first_at: datetime | None
    last_at: datetime | None
    opening: str


class FileSpeakerView(View):
    """A speaker in a file, with the number of their messages."""

    name: str
    role: Role
    messages: int


class FileContentsView(View):
    """The contents of a file of conversations, before it is imported.

    services names the services that exported it; none for a file in another format. messages would become lines, and
    retracted ones, which were edited or regenerated away, retracted lines. me is the speaker whose file it probably is,
    and assistant the chatbot, each null if the file does not say. skipped counts, by kind, what is not a line, and
    broken has the reasons why conversations can't be read, by title. units are facts and notes of another memory.
    ambiguous_dates has an example for each chat whose dates may be read in two orders, by its title.
    """

    services: list[str]
    conversations: list[FileConversationView]
    messages: int
    retracted: int
    first_at: datetime | None
    last_at: datetime | None
    speakers: list[FileSpeakerView]
    me: str | None
    assistant: str | None
    skipped: dict[str, int]
    broken: dict[str, str]
    units: int
    ambiguous_dates: dict[str, AmbiguousDateView]
