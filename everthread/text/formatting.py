"""Lines as text for a prompt: in the order they were said, under the date of their day, each with its speaker. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everthread.bank.corrections import place
from everthread.text.indentation import set_in
from everthread.text.relative_time import how_long_ago
from everthread.types import Line

GAP = "…"  # stands between lines that did not follow one another


def heading(line: Line, now: datetime | None = None) -> str:
    """The day and time of a conversation, on the speaker's own clock; seen from now, also how long ago it was."""
    at = line.said_at
    since = f", {how_long_ago(at, now)}" if now else ""
    return f"[{at:%A}, {at.day} {at:%B} {at.year:04d}, {at:%H:%M}{since}]"


def sentence(line: Line) -> str:
    """A line as it stands in a context: further rows of its text are set in, so that none passes for another's."""
    return set_in(line.text, line.speaker)


def layout(lines: Sequence[Line], now: datetime | None = None) -> str:
    """The lines in the order they were said, a heading wherever the conversation or the day changes."""
    return in_order(sorted(lines, key=when), now)


def in_order(lines: Sequence[Line], now: datetime | None = None) -> str:
    """The lines in the order in which they are given, a heading also where one goes back in time."""
    text: list[str] = []
    before: Line | None = None
    for line in lines:
        if before is None or _begins(line, before):
            text += ["", heading(line, now)] if text else [heading(line, now)]
        elif place(line) != place(before) + 1:
            text.append(GAP)
        text.append(sentence(line))
        before = line
    return "\n".join(text)


def _begins(line: Line, before: Line) -> bool:
    """Whether another conversation begins with a line, another day, or an earlier part of the same."""
    day, day_before = (line.session, line.said_at.date()), (before.session, before.said_at.date())
    return day != day_before or when(line) < when(before)


def when(line: Line) -> tuple[datetime, int]:
    """The order in which lines were said: by time, and at one time by their places."""
    return line.said_at, place(line)
