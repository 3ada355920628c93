"""Formats lines for a prompt: in the order they were said, under dated headings, each with its speaker. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from everthread.text.dates import format_date, format_long_date
from everthread.text.indentation import indent, join_rows
from everthread.text.relative_time import format_relative_time
from everthread.types import FoundUnit, Line

Source = Line | FoundUnit
Day = tuple[str, date | None]  # a session, and a day on the speaker's clock

GAP_MARK = "…"  # between lines that are not consecutive


def format_heading(line: Source, now: datetime | None = None) -> str:
    """Format the day and time of a line on the speaker's own clock; with `now`, also how long ago it was."""
    if line.is_undated:
        return "[at an unknown time]"
    at = line.said_at
    age = f", {format_relative_time(at, now)}" if now else ""
    return f"[{format_long_date(at)}, {at:%H:%M}{age}]"


def format_line(line: Source) -> str:
    """Format a line for a context. Further rows of its text are indented, so that none looks like another line."""
    return indent(line.text, line.speaker)


def format_dated_line(line: Source) -> str:
    """Format a line that is shown alone, with its day: "Mia, 2 June 2024: …"."""
    day = "" if line.is_undated else f", {format_date(line.said_at)}"
    return f"{line.speaker}{day}: {line.text}"


def format_facts(facts: Sequence[FoundUnit]) -> str:
    """Format facts as sentences, one a row."""
    return "\n".join(indent(join_rows(fact.text)) for fact in facts)


def format_lines(lines: Sequence[Source], now: datetime | None = None) -> str:
    """Format lines in the order they were said, with a heading where the session or the day changes."""
    return format_in_order(sorted(lines, key=sort_key), now)


def format_in_order(lines: Sequence[Source], now: datetime | None = None) -> str:
    """Format lines in the given order, with a heading also where a line is earlier than the one before it."""
    rows: list[str] = []
    previous: Source | None = None
    for line in lines:
        if previous is None or _needs_heading(line, previous):
            rows += ["", format_heading(line, now)] if rows else [format_heading(line, now)]
        elif line.position != previous.position + 1:
            rows.append(GAP_MARK)
        rows.append(format_line(line))
        previous = line
    return "\n".join(rows)


def _needs_heading(line: Source, previous: Source) -> bool:
    """Return whether the session or the day changes at a line, or the line is earlier than the one before it."""
    return day_of(line) != day_of(previous) or sort_key(line) < sort_key(previous)


def day_of(line: Source) -> Day:
    """Return the session and the day of a line, which share one heading; the day of an undated line is None."""
    return line.session, None if line.is_undated else line.said_at.date()


def sort_key(line: Source) -> tuple[datetime, int]:
    """Return the key that sorts lines as they were said: by time, then by position."""
    return line.said_at, line.position
