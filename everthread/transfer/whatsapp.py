r"""WhatsApp's exported chats, of Android and of iPhones, in any language that writes dates in digits:

    [05/06/24, 18:05:22] Ann: Did you water the plants?
    05/06/2024, 6:05 pm - Bob Miller: I did.
    All of them, even the fern.

A line that does not begin with a date goes on with the message before it. Whether the day or the month comes first is
told by the whole file: all dates must exist; then they should go back as seldom as possible, and span the least time.
Where both orders do equally well, the day comes first.

Skipped and counted are messages "without words" (media left out of the export, deleted messages) and the "notices" of
WhatsApp itself. Sessions are left to the bank: after an hour of silence a new one begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby, pairwise
from math import inf
from pathlib import Path

from everthread.transfer.dates import clock
from everthread.transfer.files import Keys, bad, keepable, numbered, shown
from everthread.types import NewLine, Role

MARK = "\u200e"  # left-to-right mark: iPhones put it before whatever WhatsApp says in someone's name
_BEGIN = re.compile(
    rf"{MARK}*\[?(?P<date>(\d{{1,4}})([./-])(\d{{1,2}})\3(\d{{4}}|\d{{1,2}})),?\s"
    r"(?P<time>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?\s?m\.?)?)(?:\]|\s-)\s(?P<said>.*)",
    re.IGNORECASE,
)
_WORDLESS = re.compile(rf"{MARK}.*|<[^<>]+>|(?:This message was deleted|You deleted this message)\.?|", re.DOTALL)
_EDITED = re.compile(rf"\s*{MARK}?<This message was edited>$")


def read(
    path: Path, *, assistant: Collection[str] = (), tz: tzinfo = UTC, skipped: Counter[str] | None = None
) -> Iterator[NewLine]:
    """The chat's messages. The speakers named in assistant are the bot; times are in tz. A message is known by its
    time, speaker and words, so that a later export of the chat, wherever it begins, adds only what is new."""
    skipped = Counter() if skipped is None else skipped
    day_first, keys = _day_first(path), Keys()
    for number, begin, said in _messages(path):
        at = _moment(path, number, begin, day_first)
        name, colon, text = said.partition(":")
        text = _EDITED.sub("", text.strip(" \n"))
        if not colon:
            skipped["notices"] += 1
        elif _WORDLESS.fullmatch(text):
            skipped["without words"] += 1
        else:
            name = name.strip(f" ~\u202f\xa0{MARK}")
            key = keys.of(at.isoformat(), name, text, timed=True)
            role: Role = "assistant" if name in assistant else "user"
            yield keepable(NewLine(text, name, role, at.replace(tzinfo=tz), key=key), path, f"line {number}")


def recognised(path: Path) -> bool:
    """Whether the file begins as an export does. A transcript's `[2024-05-07 09:12]` has no comma."""
    first = next((line for _, line in numbered(path) if line.strip()), "")
    begin = _BEGIN.match(first)
    return begin is not None and ("]" not in begin[0][: begin.start("said")] or "," in begin[0][: begin.start("said")])


def _messages(path: Path) -> Iterator[tuple[int, re.Match[str], str]]:
    """Where each message begins, and what was said, with the name, down to its last line."""
    begun: tuple[int, re.Match[str]] | None = None
    said: list[str] = []
    for number, line in numbered(path):
        begin = _BEGIN.match(line)
        if begin is None:
            if begun is None and line.strip():
                raise bad(path, f"line {number}", f"no message begins with {shown(line)}", "give the file as exported")
            said.append(line)
            continue
        if begun is not None:
            yield *begun, "\n".join(said)
        begun, said = (number, begin), [begin["said"]]
    if begun is not None:
        yield *begun, "\n".join(said)


def _day_first(path: Path) -> bool:
    days = [day for day, _ in groupby(_numbers(begin) for _, begin, _ in _messages(path))]

    def faults(day_first: bool) -> tuple[float, int]:
        try:
            dates = [_date(day, day_first) for day in days]
        except ValueError:
            return inf, 0
        back = sum(later < earlier for earlier, later in pairwise(dates))
        return back, (max(dates) - min(dates)).days if dates else 0

    return min((True, False), key=faults)


def _numbers(begin: re.Match[str]) -> tuple[int, int, int]:
    return int(begin[2]), int(begin[4]), int(begin[5])


def _date(day: tuple[int, int, int], day_first: bool) -> date:
    first, second, third = day
    if first > 31:
        return date(first, second, third)
    year = third if third > 99 else 2000 + third
    return date(year, second, first) if day_first else date(year, first, second)


def _moment(path: Path, number: int, begin: re.Match[str], day_first: bool) -> datetime:
    """When it was said, by the clock on the wall."""
    time = re.sub(r"(?<=\d)\.(?=\d)", ":", begin["time"])
    try:
        day = _date(_numbers(begin), day_first)
        return clock(re.sub(r"[.\s]", "", time), datetime(day.year, day.month, day.day))
    except ValueError:
        order = "day" if day_first else "month"
        what = f"there is no such time: {shown(begin['date'])}, {shown(begin['time'])}, read with the {order} first"
        raise bad(path, f"line {number}", what, "mend the date: the whole file must be in one order") from None
