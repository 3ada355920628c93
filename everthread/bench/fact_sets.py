"""Reads conversations whose lines are annotated with the facts that they state: written for this project.

`facts/` has a folder of conversations for each language, and so has `facts/held_out/`, which is not looked at while a
reader of facts is developed. A file is one conversation:

    # Comments begin with a number sign.
    bot: Fern
    2024-03-03
    Nora: My sister Mia lives in Porto. I kind of like jazz.
      + Nora | sister | Mia
      + Mia | home | Porto
      ? Nora | likes | jazz

A fact begins with two spaces and a mark: + if it holds from then on, - if it has ended, ? if it counts neither way.
Its fields are subject, attribute, the wordings of the value, separated by " / ", and optionally a year, month or day,
or "ended" after the mark ?. A line without facts states none, and nothing may be read from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, get_args

from everthread.errors import BadFile, BadInput
from everthread.facts.attributes import ATTRIBUTES, is_known
from everthread.facts.partial_dates import read_moment
from everthread.transfer.files import shorten
from everthread.types import Line

Part = Literal["open", "held-out"]
Mark = Literal["+", "-", "?"]
PARTS: tuple[Part, ...] = get_args(Part)
MARKS: tuple[Mark, ...] = get_args(Mark)
FOLDER = files("everthread.bench").joinpath("facts")
PART_FOLDERS = {"open": FOLDER, "held-out": FOLDER.joinpath("held_out")}
HELD_OUT = "held_out"
ENDED = "ended"
WORDINGS = " / "  # between the wordings of a value
FIRST_HOUR = 18  # of the first line of each day; the others follow minute by minute
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPOKEN = re.compile(r"(?P<speaker>[^\s:：|][^:：|]{0,39}): (?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class GoldFact:
    """A fact that a line states.

    Attributes:
        mark: + if it holds from then on, - if it has ended, ? if it counts neither way.
        subject: the person or thing that it is about.
        attribute: one of `everthread.facts.attributes`.
        values: the wordings of its value, any of which is right.
        moment: the year, month or day from which it holds or at which it ended, if the line says so.
        has_ended: whether a fact of mark ? has ended.
    """

    mark: Mark
    subject: str
    attribute: str
    values: tuple[str, ...]
    moment: str | None = None
    has_ended: bool = False

    @property
    def ends(self) -> bool | None:
        """Whether it states that this no longer holds; None for a fact of mark ? that leaves it open."""
        return self.mark == "-" or self.has_ended or (None if self.mark == "?" else False)

    @property
    def is_counted(self) -> bool:
        """True if it is to be found."""
        return self.mark != "?"

    def __str__(self) -> str:
        last = ENDED if self.has_ended else self.moment
        fields = (self.subject, self.attribute, WORDINGS.join(self.values), last)
        return f"{self.mark} {' | '.join(text for text in fields if text is not None)}"


@dataclass(frozen=True, slots=True)
class GoldLine:
    """A line, the facts that it states, and its number in the file."""

    line: Line
    facts: tuple[GoldFact, ...]
    number: int


@dataclass(frozen=True, slots=True)
class GoldConversation:
    """An annotated conversation. Its id is the path of its file in `facts/`."""

    id: str
    language: str
    part: Part
    lines: tuple[GoldLine, ...]

    @property
    def talk(self) -> list[Line]:
        """The lines without their facts."""
        return [gold.line for gold in self.lines]


def list_languages(part: Part) -> list[str]:
    """Return the codes of the languages that a part has, sorted."""
    return sorted(entry.name for entry in PART_FOLDERS[part].iterdir() if entry.is_dir() and entry.name != HELD_OUT)


def load_gold(parts: Sequence[Part] = PARTS, languages: Sequence[str] = ()) -> list[GoldConversation]:
    """Return the conversations of these parts and languages; of all languages if none is given.

    Raises:
        BadFile: one of the files is invalid.
        BadInput: no conversation is in one of these languages.
    """
    known = sorted({language for part in PARTS for language in list_languages(part)})
    if missing := set(languages).difference(known):
        raise BadInput(f"there are no facts in language {min(missing)!r}; choose from {', '.join(known)}")
    return [
        read_gold(entry.read_text("utf-8"), language, part, entry.name.removesuffix(".txt"))
        for part in parts
        for language in list_languages(part)
        if not languages or language in languages
        for entry in _list_texts(PART_FOLDERS[part].joinpath(language))
    ]


def _list_texts(folder: Traversable) -> list[Traversable]:
    return sorted((entry for entry in folder.iterdir() if entry.name.endswith(".txt")), key=lambda entry: entry.name)


def read_gold(text: str, language: str, part: Part, name: str) -> GoldConversation:
    """Read the conversation of a file.

    Args:
        text: the content of the file.
        language: the code of its language.
        part: the part to which it belongs.
        name: the name of the file without its suffix.

    Raises:
        BadFile: it is invalid; the error has the number of the line.
    """
    id = f"{HELD_OUT}/{language}/{name}" if part == "held-out" else f"{language}/{name}"
    reader = _Reader(f"everthread/bench/facts/{id}.txt", id)
    for number, row in enumerate(text.split("\n"), 1):
        reader.read(row.rstrip("\r"), number)
    return GoldConversation(id, language, part, reader.finish())


@dataclass(slots=True)
class _Reader:
    """Reads the rows of a file in turn."""

    path: str
    id: str
    bot: str = ""
    said_at: datetime | None = None
    lines: list[GoldLine] = field(default_factory=list)
    number: int = 0
    facts: list[GoldFact] = field(default_factory=list)  # of the last line

    def read(self, row: str, number: int) -> None:
        self.number = number
        if not row.strip() or row.startswith("#"):
            return
        if row.startswith("bot:"):
            self._read_bot(row)
        elif row[0].isspace():
            self._read_fact(row)
        elif row[0].isdigit() and ":" not in row:
            self._read_date(row)
        else:
            self._read_line(row)

    def finish(self) -> tuple[GoldLine, ...]:
        """Return the lines of the conversation."""
        self._close_line()
        if not self.lines:
            raise self.error("the file has no line of talk", "write each line as Speaker: text")
        return tuple(self.lines)

    def error(self, problem: str, remedy: str) -> BadFile:
        return BadFile(problem, path=self.path, where=f"line {self.number}", remedy=remedy)

    def _read_bot(self, row: str) -> None:
        name = row.removeprefix("bot:").strip()
        if self.bot or self.lines or self.said_at or not name:
            raise self.error(f"{shorten(row)} is not expected here", "write bot: NAME once, before the first date")
        self.bot = name

    def _read_date(self, row: str) -> None:
        try:
            if _DATE.fullmatch(row) is None:
                raise ValueError
            day = datetime.fromisoformat(row).replace(hour=FIRST_HOUR, tzinfo=UTC)
        except ValueError:
            raise self.error(f"{shorten(row)} is not a date", "write it as 2024-03-03, alone in its row") from None
        if self.said_at is not None and day <= self.said_at:
            raise self.error(f"{row} is not after the day before it", "write the days in the order of time")
        self.said_at = day

    def _read_line(self, row: str) -> None:
        spoken = _SPOKEN.fullmatch(row)
        if spoken is None:
            raise self.error(
                f"{shorten(row)} is neither a date nor a line of talk",
                "write Speaker: text, with an ASCII colon and a space, or begin facts with two spaces",
            )
        if self.said_at is None:
            raise self.error("a line has no day", "write a date such as 2024-03-03 above the first line")
        self._close_line()
        seq, speaker = len(self.lines) + 1, spoken["speaker"]
        role: Literal["assistant", "user"] = "assistant" if speaker == self.bot else "user"
        line = Line(
            seq, f"{self.said_at:%Y-%m-%d}", role, speaker, spoken["text"], self.said_at, key=f"{self.id}:{seq}"
        )
        self.lines.append(GoldLine(line, (), self.number))
        self.said_at += timedelta(minutes=1)

    def _read_fact(self, row: str) -> None:
        if not self.lines:
            raise self.error("a fact has no line that states it", "write facts below their line of talk")
        if self.lines[-1].line.role == "assistant":
            raise self.error("a bot's line has a fact", "remove it: nothing is learnt from what a bot says")
        self.facts.append(self._parse_fact(row))

    def _parse_fact(self, row: str) -> GoldFact:
        mark = next((mark for mark in MARKS if row.startswith(f"  {mark} ")), None)
        if mark is None:
            raise self.error(f"{shorten(row)} is not a fact", "begin it with two spaces, one of + - ? and a space")
        fields = [field.strip() for field in row[4:].split("|")]
        if len(fields) not in (3, 4) or not all(fields):
            raise self.error(
                f"{shorten(row)} has {len(fields)} fields, or an empty one",
                "write subject | attribute | value, and | and the moment if the line says one",
            )
        subject, attribute, value, *moments = fields
        if not is_known(attribute):
            known = ", ".join(sorted(ATTRIBUTES))
            raise self.error(f"there is no attribute {attribute!r}", f"choose from favourite X, {known}")
        values = tuple(wording.strip() for wording in value.split(WORDINGS))
        if not all(values):
            raise self.error(f"{shorten(value)} has an empty wording", "separate wordings by a slash between spaces")
        if moments == [ENDED] and mark == "?":
            return GoldFact(mark, subject, attribute, values, has_ended=True)
        moment = self._check_moment(moments[0]) if moments else None
        return GoldFact(mark, subject, attribute, values, moment)

    def _check_moment(self, moment: str) -> str:
        try:
            read_moment(moment, UTC)
        except BadInput:
            raise self.error(f"{shorten(moment)} is not a moment", "write it as 2019, 2019-05 or 2019-05-04") from None
        return moment

    def _close_line(self) -> None:
        if self.lines and self.facts:
            last = self.lines[-1]
            self.lines[-1] = GoldLine(last.line, tuple(self.facts), last.number)
            self.facts.clear()
