r"""Plain text transcripts:

    Monday, 6 May 2024
    Ann: Did you water the plants?
    Bob Miller: I did.
    All of them, even the fern: see https://example.org/fern
    [18:05] Ann: Thank you!

    [2024-05-07 09:12] Bob Miller: The fern has a new leaf.

- `Name: text` is a message. A name begins with a letter, has at most four words and is followed by a colon and a space.
  Each word of a longer name begins with a capital, or with a letter that has no case; particles such as von, van and de
  may be among them. So `https://…`, `12:30` and `the plan is this: …` are not names; `小明：…` is.
- `[date and time] Name: text` has a time; `[10:22] Name: text` is on the day of the line before or of the header. If
  the clock goes back by more than twelve hours, midnight has passed. The order of day, month and year in dates such as
  05/06/2024 is inferred from all dates of the file, unless it is given.
- A line that is only a date (`dates` lists the forms), optionally between `---`, `===`, `***`, `#` or brackets, is a
  header and begins a session.
- Any other line continues the message before it. Blank lines are ignored. A line that looks like one of the above, but
  has an impossible or ambiguous date, is an error.

In a file that does not begin in this way, messages may begin in one of the styles of `transcript_styles`, after lines
without a speaker such as a title, which are left out.

A message without a time is one second after the message before it, or at the header's time; without any date in the
file it has no time. `files.KeyGenerator` describes how a message is recognised in another file; its key is made of the
name and the words in the file, also where the line has others. The caller names the speakers that are the bot;
otherwise those are who are called like a role, such as "Assistant". A speaker called "You", "Me" or like another of
`transcript_styles.PERSONS` gets the person's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path, PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.dates import (
    MAX_DATE_CHARS,
    find_order,
    has_ambiguous_form,
    is_clear,
    looks_like_date,
    parse_clock,
    parse_moment,
)
from everthread.transfer.files import KeyGenerator, check_line, file_error, make_session_id, shorten
from everthread.transfer.services.chatlist import PERSON
from everthread.transfer.services.export import Export, ExportFile, is_archive, open_export
from everthread.transfer.services.lines import Findings
from everthread.transfer.transcript_styles import (
    MAX_HEAD_LINES,
    STYLES_WITH_TIME,
    Style,
    find_role,
    find_style,
    is_person,
    remove_furniture,
)
from everthread.transfer.types import DATE_ORDERS
from everthread.types import NewLine, Role

MIDNIGHT_GAP = timedelta(hours=12)
TEXT_NAMES = ("*.txt", "*.md", "*.markdown")  # of transcripts in an archive or a folder
ABOUT = ("readme", "license", "changelog", "agents", "claude")  # begin the names of texts for people, or for agents
HEAD_BYTES = 2**16  # of a text, in which it shows whether it is a transcript
MAX_NAME_CHARS = 40  # a longer text before a colon is part of a sentence
MAX_NAME_WORDS = 4
PARTICLES = frozenset(
    ("al", "bin", "da", "de", "del", "den", "der", "di", "dos", "du", "la", "le", "of", "van", "von", "y")
)

_MESSAGE = re.compile(rf"(?P<name>[^:：\[\]]{{1,{MAX_NAME_CHARS}}}?)(?::(?=\s|$)|：)\s*(?P<text>.*)", re.DOTALL)
_WITH_STAMP = re.compile(r"\[(?P<stamp>[^\]]{3,60})\]\s*(?P<rest>.*)", re.DOTALL)
_RULE = re.compile(  # a line of Markdown between and after messages
    r"(?:-{3,}|\*{3,}|_{3,}|\* \* \*|- - -|Powered by \[.{1,200})"
)
_DATE_DECORATION = " \t-=*#_[]()"
_HAS_FULL_YEAR = re.compile(r"\d{4}")
_WORD = re.compile(r"[^\W\d_][\w.'’\-]*|\d+|\([\w .'’\-]+\)")


def read(
    path: Path | Sequence[Path],
    *,
    assistant: Collection[str] = (),
    tz: tzinfo = UTC,
    me: str | None = None,
    date_order: str | None = None,
    findings: Findings | None = None,
    left_out: Collection[Path] = (),
) -> Iterator[NewLine]:
    """Yield the messages of a transcript as lines, those before the first date as undated.

    A session is named after the file and its first message, for example "diary-3f9a2c01".

    Args:
        path: the file, the archive or the folder with transcripts, or several of these, read one after the other.
        assistant: the speakers that are the bot.
        tz: the zone of times.
        me: the name of the person, who may be called "You" or "Me" in the file.
        date_order: the order of day, month and year in dates such as 05/06/2024, one of `DATE_ORDERS`; None: it is
            inferred from each file.
        findings: filled with the speaker who is the person, if the file shows it.
        left_out: files and archives that are not read.

    Raises:
        BadFile: a line is invalid.
    """
    with ExitStack() as stack:
        for place in [path] if isinstance(path, Path) else path:
            export = stack.enter_context(open_export([place], left_out))
            for file in list_transcripts(export) if place.is_dir() or is_archive(place) else export.files:
                clock = _Clock(tz, date_order or _infer_order(file.numbered_lines()))
                yield from _read_file(file, clock, assistant, me, findings)


def list_transcripts(export: Export) -> list[ExportFile]:
    """Return the transcripts in an archive or a folder."""
    return [file for file in export.named(*TEXT_NAMES) if is_transcript(file)]


def is_transcript(file: ExportFile) -> bool:
    """Return whether a text is a transcript: with times, or of speakers who take turns.

    A list of properties, such as `Version: 2`, has as many names as lines.
    """
    if file.name.rpartition("/")[2].lower().startswith(ABOUT):
        return False
    numbered = list(enumerate(file.read_beginning(HEAD_BYTES).decode(errors="ignore").splitlines(), 1))
    clock = _Clock(UTC, _infer_order(numbered) or next(iter(DATE_ORDERS)))
    try:
        messages = list(_read_messages(file, numbered, clock, _find_style(file, numbered, clock)))
    except BadFile:
        return False
    names = {message.name for message in messages if not message.name.isupper()}  # not `ERROR: …` in a log
    is_dated = any(message.said_at is not None for message in messages)
    return bool(names) and (is_dated or 2 <= len(names) <= 1 + len(messages) / 2)


def _infer_order(lines: Iterable[tuple[int, str]]) -> str | None:
    """Return the order of day, month and year in a transcript; None if it needs none, or its dates don't show it."""
    return find_order({date for _, line in lines if (date := _find_ambiguous_date(line.strip()))})


def _find_ambiguous_date(text: str) -> str | None:
    """Return the date of a message or of a header, if its day or its month may come first."""
    if not has_ambiguous_form(text[:MAX_DATE_CHARS]):
        return None
    for line in (text, *(style(text) for style in STYLES_WITH_TIME)):
        stamped = _WITH_STAMP.fullmatch(line or "")
        if stamped and _MESSAGE.fullmatch(stamped["rest"]) and looks_like_date(stamped["stamp"]):
            return None if is_clear(stamped["stamp"]) else stamped["stamp"]
    header = text.strip(_DATE_DECORATION)
    is_header = _HAS_FULL_YEAR.search(header) and looks_like_date(header)
    return header if is_header and not is_clear(header) else None


def _read_file(
    file: ExportFile, clock: _Clock, assistant: Collection[str], me: str | None, findings: Findings | None
) -> Iterator[NewLine]:
    keys, session, name = KeyGenerator(), 0, ""
    style = _find_style(file, file.numbered_lines(), clock)
    for message in _read_messages(file, file.numbered_lines(), clock, style):
        words = "\n".join(part for part in message.parts if part)
        if not words:
            raise _line_error(file, message.number, f"{message.name} says nothing", "remove it, or write what was said")
        local_time = message.said_at.replace(tzinfo=None).isoformat() if message.said_at else None
        is_first = message.session != session
        if is_first:
            keys.start_session()
        key = keys.next_key(local_time, message.name, words, timed=message.timed)
        if is_first:
            session, name = message.session, make_session_id(PurePosixPath(file.name), key)
        role: Role = "assistant" if message.name in assistant else "user"
        role = role if assistant else find_role(message.name, in_style=style is not None)
        is_me = role == "user" and is_person(message.name)
        speaker = (me or PERSON) if is_me else message.name
        if findings is not None and (is_me or speaker == me):
            findings.owners[speaker] = 1
        text = remove_furniture(message.name, words) if style is not None and role == "assistant" else words
        line = NewLine(text, speaker, role, message.said_at, name, key=key, undated=message.said_at is None)
        yield check_line(line, file.path, file.locate(message.number))


@dataclass(slots=True)
class _Message:
    """A message as read from the file, before it has a key."""

    number: int
    name: str
    session: int
    said_at: datetime | None
    timed: bool  # whether it has its own time
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Clock:
    """The session and the time of the line that is being read."""

    tz: tzinfo
    order: str | None = None  # of day, month and year in dates such as 05/06/2024
    session: int = 1
    has_messages: bool = False  # in the present session
    header: datetime | None = None
    last: datetime | None = None

    def start_session(self, header: datetime) -> None:
        """Start a session at the time of its header."""
        self.session += self.has_messages
        self.has_messages, self.header, self.last = False, header, None

    def parse_header(self, text: str) -> datetime | None:
        """Return the time of a line that is only a date; None for another line."""
        date = text.strip(_DATE_DECORATION)
        try:
            if text.isdigit():
                return None
            # "5/6/24" alone may be part of a message.
            return self._parse(date) if _HAS_FULL_YEAR.search(date) else parse_moment(date, self.tz)
        except ValueError:
            return None

    def _parse(self, text: str) -> datetime:
        """Parse a date, in the file's order only if it needs one. Raises ValueError."""
        return parse_moment(text, self.tz, None if is_clear(text) else self.order)

    def parse_stamp(self, text: str) -> datetime | None:
        """Return the time in brackets; None if the text is not a time.

        Raises:
            ValueError: it is a time of day without a known date.
        """
        try:
            return self._parse(text)
        except ValueError:
            pass
        try:
            parse_clock(text, datetime(2000, 1, 1))
        except ValueError:
            return None
        day = self.last or self.header
        if day is None:
            raise ValueError(text)
        moment = parse_clock(text, day)
        return moment + timedelta(days=1) if day - moment > MIDNIGHT_GAP else moment

    def advance(self, stamp: datetime | None) -> datetime | None:
        """Return the time of the next message.

        Args:
            stamp: its own time, if it has one.
        """
        if stamp is None and self.last is not None:
            stamp = self.last + timedelta(seconds=1)
        self.last = stamp or self.header
        self.has_messages = True
        return self.last


def _find_style(file: ExportFile, lines: Iterable[tuple[int, str]], clock: _Clock) -> Style | None:
    """Return the style of a transcript that begins neither with a message nor with a date; None for another one."""
    clock = _Clock(clock.tz, clock.order)
    head = list(islice((text for _, line in lines if (text := line.strip())), MAX_HEAD_LINES))
    first = head[0] if head else ""
    is_plain = clock.parse_header(first) is not None or _start_message(file, 1, first, clock) is not None
    return None if is_plain else find_style(head)


def _read_messages(
    file: ExportFile, lines: Iterable[tuple[int, str]], clock: _Clock, style: Style | None
) -> Iterator[_Message]:
    message: _Message | None = None
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        rewritten = style(text) if style else None
        if style and rewritten is None:
            if message is not None and not _RULE.fullmatch(text):
                message.parts.append(text)
            continue
        text = rewritten or text
        header = clock.parse_header(text)
        if header is not None:
            clock.start_session(header)
        started = None if header else _start_message(file, number, text, clock)
        if started is None and header is None:
            if message is None:
                raise _line_error(file, number, f"{shorten(text)} has no speaker", "begin a message with 'Name: '")
            message.parts.append(text)
            continue
        if message is not None:
            yield message
        message = started
    if message is not None:
        yield message


def _start_message(file: ExportFile, number: int, text: str, clock: _Clock) -> _Message | None:
    """Return the message that begins on this line; None if the line continues another."""
    stamped = _WITH_STAMP.fullmatch(text)
    try:
        stamp = clock.parse_stamp(stamped["stamp"]) if stamped else None
    except ValueError:
        what = f"the time {shorten(text[:20])} has no date"
        raise _line_error(file, number, what, "write the date above it, or in the brackets") from None
    except OverflowError:
        raise _time_overflow_error(file, number) from None
    match = _MESSAGE.fullmatch(stamped["rest"] if stamped else text)
    if match is None or not _is_name(match["name"].strip()):
        match = None
    if stamp is None and _is_invalid_time(stamped["stamp"] if stamped and match else "", text):
        raise _time_error(file, number, text, clock)
    if match is None or (stamped and stamp is None):
        return None
    try:
        said_at = clock.advance(stamp)
    except OverflowError:
        raise _time_overflow_error(file, number) from None
    return _Message(number, match["name"].strip(), clock.session, said_at, stamp is not None, [match["text"].strip()])


def _time_error(file: ExportFile, number: int, text: str, clock: _Clock) -> BadFile:
    """Build the error of a line whose date or time is impossible, or a date that the other dates don't make clear."""
    written = "write it as 2024-05-31 or [2024-05-31 18:05]"
    if clock.order or not has_ambiguous_form(text[:MAX_DATE_CHARS]):
        return _line_error(file, number, f"{shorten(text[:30])} begins with an invalid time", written)
    return BadFile(
        f"{shorten(text[:30])} begins with an ambiguous time, and no other, such as 25/06/2024, shows its order",
        path=file.path,
        where=file.locate(number),
        remedy=f"give the order of day, month and year with {{option}}, or {written}",
        option="date_order",
    )


def _time_overflow_error(file: ExportFile, number: int) -> BadFile:
    return _line_error(file, number, "its time comes after the year 9999", "correct the date above it")


def _line_error(file: ExportFile, number: int, what: str, remedy: str) -> BadFile:
    return file_error(file.path, file.locate(number), what, remedy)


def _is_invalid_time(stamp: str, text: str) -> bool:
    """Return whether an invalid stamp, or a line that is only a date with a full year, was meant as a time."""
    if stamp:
        return looks_like_date(stamp) or looks_like_date(f"2000-01-01 {stamp}")
    return _HAS_FULL_YEAR.search(text) is not None and looks_like_date(text.strip(_DATE_DECORATION))


def _is_name(name: str) -> bool:
    words = name.split()
    if not words or len(words) > MAX_NAME_WORDS or not name[0].isalpha() or not all(map(_WORD.fullmatch, words)):
        return False
    return len(words) == 1 or (not words[0][0].islower() and all(map(_is_name_word, words)))


def _is_name_word(word: str) -> bool:
    return not word[0].islower() or word in PARTICLES
