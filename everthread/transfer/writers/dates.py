"""Formats dates and times of lines for readers, on the speaker's own clock."""

from __future__ import annotations

from everthread.text.dates import format_date, format_long_date
from everthread.types import Line, Session

UNKNOWN_TIME = "At an unknown time"


def format_day(line: Line) -> str:
    """Format the day of a line: Wednesday, 1 May 2024."""
    return UNKNOWN_TIME if line.is_undated else format_long_date(line.said_at)


def format_clock(line: Line) -> str:
    """Format the time of day of a line: 12:03; empty if it is unknown."""
    return "" if line.is_undated else f"{line.said_at:%H:%M}"


def name_session(title: str, session: Session) -> str:
    """Return the title of a session, or else one with the day on which it began."""
    return title or f"Conversation of {format_date(session.started_at)}"
