r"""WhatsApp's exported chats, of Android and of iPhones, in any language that writes dates in digits:

    [05/06/24, 18:05:22] Ann: Did you water the plants?
    05/06/2024, 6:05 pm - Bob Miller: I did.
    All of them, even the fern.

A line that does not begin with a date goes on with the message before it. Whether the day or the month comes first is
told by the whole file: all dates must exist; then they should go back as seldom as possible, and span the least time.
Where both orders do equally well, the day comes first.

Skipped and counted are messages "without words" (media left out of the export, deleted messages) and the "notices" of
WhatsApp itself, which name no speaker; but a group's title may hold a colon, and then a notice looks as if it did. An
iPhone lets the group itself say them, marked, beginning with the first line of the file. Sessions are left to the bank:
after an hour of silence a new one begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby, pairwise
from math import inf
from pathlib import Path

from everthread.transfer.dates import parse_clock
from everthread.transfer.files import KeyGenerator, check_line, file_error, read_numbered_lines, shorten
from everthread.transfer.whatsapp_phrases import LTR_MARK, is_system_message, strip_edit_mark
from everthread.types import NewLine, Role

MAX_NAME_CHARS = 200  # characters, as many as a bank takes
QUOTES = '"“”„«»「」'
MAX_EXTRA_WORDS = 2  # words behind a speaker's name that still make a name: Ann, Ann from work
MIN_MESSAGES_OF_NAME = 3  # messages under one name, that make it a name, however it reads
_BEGIN = re.compile(
    rf"{LTR_MARK}*\[?(?P<date>(\d{{1,4}})([./-])(\d{{1,2}})\3(\d{{4}}|\d{{1,2}})),?\s"
    r"(?P<time>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?\s?m\.?)?)(?:\]|\s-)\s(?P<said>.*)",
    re.IGNORECASE,
)
_SAID = re.compile(r"(?P<name>[^:\n]*):(?=\s|$)(?P<text>.*)", re.DOTALL)


def read(
    path: Path, *, assistant: Collection[str] = (), tz: tzinfo = UTC, skipped: Counter[str] | None = None
) -> Iterator[NewLine]:
    """The chat's messages. The speakers named in assistant are the bot; times are in tz.

    A message is known by its time, speaker and words; where the time has no seconds, also by the message before it, for
    in two chats the same short answer may fall into one minute. So a later export of the chat, wherever it begins, adds
    only what is new, and perhaps its first message once more.
    """
    skipped = Counter() if skipped is None else skipped
    day_first, people, keys = _is_day_first(path), _Speakers(path), KeyGenerator()
    before: tuple[str, ...] = ()
    for number, begin, said in _read_messages(path):
        at = _parse_said_at(path, number, begin, day_first)
        name, text = _split_name(said)
        if name not in people.names:
            skipped["notices"] += 1
        elif is_system_message(text) or (name == people.group and text.startswith(LTR_MARK)):
            skipped["without words"] += 1
        else:
            this = (at.isoformat(), name, text)
            key = keys.next_key(*this, *(before if at.second == 0 else ()), timed=True)
            before = this
            role: Role = "assistant" if name in assistant else "user"
            yield check_line(NewLine(text, name, role, at.replace(tzinfo=tz), key=key), path, f"line {number}")


def is_whatsapp_export(path: Path) -> bool:
    """Whether the file begins as an export does. A transcript's `[2024-05-07 09:12]` has no comma."""
    first = next((line for _, line in read_numbered_lines(path) if line.strip()), "")
    begin = _BEGIN.match(first)
    return begin is not None and ("]" not in begin[0][: begin.start("said")] or "," in begin[0][: begin.start("said")])


def _read_messages(path: Path) -> Iterator[tuple[int, re.Match[str], str]]:
    """Where each message begins, and what was said, with the name, down to its last line."""
    begun: tuple[int, re.Match[str]] | None = None
    said: list[str] = []
    for number, line in read_numbered_lines(path):
        begin = _BEGIN.match(line)
        if begin is None:
            if begun is None and line.strip():
                raise file_error(
                    path, f"line {number}", f"no message begins with {shorten(line)}", "give the file as exported"
                )
            said.append(line)
            continue
        if begun is not None:
            yield *begun, "\n".join(said)
        begun, said = (number, begin), [begin["said"]]
    if begun is not None:
        yield *begun, "\n".join(said)


def _split_name(said: str) -> tuple[str, str]:
    """The name and the words of a message; no name, where it is a notice."""
    parts = _SAID.fullmatch(said)
    if parts is None:
        return "", ""
    return parts["name"].strip(f" ~\u202f\xa0{LTR_MARK}"), strip_edit_mark(parts["text"].strip(" \n"))


class _Speakers:
    """Who speaks in the chat: a notice with a colon in it is told from a message by what the whole file holds."""

    def __init__(self, path: Path) -> None:
        said = Counter[str]()
        marked: str | None = None
        for _, _, whole in _read_messages(path):
            name, text = _split_name(whole)
            if not said:
                marked = name if text.startswith(LTR_MARK) else None
            elif name == marked and not text.startswith(LTR_MARK):
                marked = None
            said[name] += 1
        self.group = marked  # the name that begins the file and says nothing but notices
        able = {name for name in said if name and not _has_open_quote(name) and len(name) <= MAX_NAME_CHARS}
        self.names = {name for name in able if said[name] >= MIN_MESSAGES_OF_NAME or not _describes_action(name, able)}


def _has_open_quote(name: str) -> bool:
    """Whether a quotation begins in it that does not end."""
    return sum(map(name.count, QUOTES)) % 2 == 1


def _describes_action(name: str, names: Collection[str]) -> bool:
    """Whether it tells what one of these people did: Ann changed the title to Trip."""
    words = name.split(" ")
    beginnings = (" ".join(words[:count]) for count in range(1, len(words) - MAX_EXTRA_WORDS))
    return any(beginning in names for beginning in beginnings)


def _is_day_first(path: Path) -> bool:
    days = [day for day, _ in groupby(_date_numbers(begin) for _, begin, _ in _read_messages(path))]

    def faults(day_first: bool) -> tuple[float, int]:
        try:
            dates = [_make_date(day, day_first) for day in days]
        except ValueError:
            return inf, 0
        back = sum(later < earlier for earlier, later in pairwise(dates))
        return back, (max(dates) - min(dates)).days if dates else 0

    return min((True, False), key=faults)


def _date_numbers(begin: re.Match[str]) -> tuple[int, int, int]:
    return int(begin[2]), int(begin[4]), int(begin[5])


def _make_date(day: tuple[int, int, int], day_first: bool) -> date:
    first, second, third = day
    if first > 31:
        return date(first, second, third)
    year = third if third > 99 else 2000 + third
    return date(year, second, first) if day_first else date(year, first, second)


def _parse_said_at(path: Path, number: int, begin: re.Match[str], day_first: bool) -> datetime:
    """When it was said, by the clock on the wall."""
    time = re.sub(r"(?<=\d)\.(?=\d)", ":", begin["time"])
    try:
        day = _make_date(_date_numbers(begin), day_first)
        return parse_clock(re.sub(r"[.\s]", "", time), datetime(day.year, day.month, day.day))
    except ValueError:
        order = "day" if day_first else "month"
        what = f"there is no such time: {shorten(begin['date'])}, {shorten(begin['time'])}, read with the {order} first"
        raise file_error(
            path, f"line {number}", what, "correct the date: the whole file must be in one order"
        ) from None
