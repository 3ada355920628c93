"""Parses the times that a model writes. Pure."""

from __future__ import annotations

import re
from datetime import MAXYEAR, datetime, timedelta

from everthread.errors import BadQuery

DAY_PATTERN = re.compile(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?W\d{2}-?\d")  # the dates that `fromisoformat` reads
ONE_DAY = timedelta(days=1)


def parse_time(name: str, text: str) -> datetime:
    """Parse a date or a time in ISO 8601; without an offset it is in the time zone of this machine.

    Args:
        name: the argument's name in messages.
        text: the time.

    Raises:
        BadQuery: the text is not a time.
    """
    try:
        time = datetime.fromisoformat(text.strip())
        return time if time.tzinfo else _add_local_zone(time)
    except ValueError:
        raise BadQuery(
            f"invalid {name}: got {text[:40]!r}, expected a date like 2024-05-31 or a time like 2024-05-31T18:30+02:00"
        ) from None


def parse_start(name: str, text: str | None) -> datetime | None:
    """Parse the beginning of a span; None stays None. Raises the same errors as `parse_time`."""
    return None if text is None else parse_time(name, text)


def parse_end(name: str, text: str | None) -> datetime | None:
    """Parse the end of a span, which is exclusive: a date without a time of day includes that day.

    Raises:
        BadQuery: the text is not a time.
    """
    if text is None:
        return None
    time = parse_time(name, text)
    try:
        return time + ONE_DAY if DAY_PATTERN.fullmatch(text.strip()) else time
    except OverflowError:
        return time


def parse_span(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Parse the beginning and the end of a span.

    Raises:
        BadQuery: a text is not a time, or the span ends before it begins.
    """
    start, end = parse_start("since", since), parse_end("until", until)
    if start is not None and end is not None and end <= start:
        raise BadQuery(f"invalid until: got {until!r}, expected a time after since, {since!r}")
    return start, end


def _add_local_zone(time: datetime) -> datetime:
    """Add the time zone of this machine to a time; in the last year of the calendar, the present offset from UTC.

    Raises:
        ValueError: the time is too early to have one.
    """
    try:
        return time.astimezone()
    except (ValueError, OverflowError, OSError):
        if time.year < MAXYEAR:
            raise ValueError(f"no time zone in the year {time.year}") from None
        return time.replace(tzinfo=datetime.now().astimezone().tzinfo)
