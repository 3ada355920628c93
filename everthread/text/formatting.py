"""Lines as text for a prompt: in the order they were said, under the date of their day, each with its speaker. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everthread.text.indentation import indent
from everthread.text.relative_time import how_long_ago
from everthread.types import FoundUnit, Line

Source = Line | FoundUnit

GAP = "…"  # stands between lines that did not follow one another


def date_heading(line: Source, now: datetime | None = None) -> str:
    """The day and time of a conversation, on the speaker's own clock; seen from now, also how long ago it was."""
    at = line.said_at
    since = f", {how_long_ago(at, now)}" if now else ""
    return f"[{at:%A}, {at.day} {at:%B} {at.year:04d}, {at:%H:%M}{since}]"


def format_line(line: Source) -> str:
    """A line as it stands in a context: further rows of its text are set in, so that none passes for another's."""
    return indent(line.text, line.speaker)


def format_lines(lines: Sequence[Source], now: datetime | None = None) -> str:
    """The lines in the order they were said, a heading wherever the conversation or the day changes."""
    return in_order(sorted(lines, key=sort_key), now)


def in_order(lines: Sequence[Source], now: datetime | None = None) -> str:
    """The lines in the order in which they are given, a heading also where one goes back in time."""
    text: list[str] = []
    before: Source | None = None
    for line in lines:
        if before is None or _begins(line, before):
            text += ["", date_heading(line, now)] if text else [date_heading(line, now)]
        elif line.position != before.position + 1:
            text.append(GAP)
        text.append(format_line(line))
        before = line
    return "\n".join(text)


def _begins(line: Source, before: Source) -> bool:
    """Whether another conversation begins with a line, another day, or an earlier part of the same."""
    day, day_before = (line.session, line.said_at.date()), (before.session, before.said_at.date())
    return day != day_before or sort_key(line) < sort_key(before)


def sort_key(line: Source) -> tuple[datetime, int]:
    """The order in which lines were said: by time, and at one time by their places."""
    return line.said_at, line.position
