"""Formats how long ago something was for a prompt, since models calculate badly with dates. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from everthread.errors import BadInput

WEEKS_FROM_DAYS = 14  # from which weeks are counted; "9 days ago" is more exact than "a week ago"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of a time from now, in whole units of the calendar.

    Attributes:
        unit: "minute", "hour", "day", "week", "month" or "year"; or "now", "yesterday", "tomorrow".
        number: the number of units.
        is_past: whether the time is before now.
    """

    unit: str
    number: int
    is_past: bool


def measure_distance(then: datetime, now: datetime) -> Distance:
    """Measure the distance of a time from now.

    Days, months and years are those of the calendar on now's clock, and only whole ones count: the evening before is
    "yesterday", whether it is ten hours ago or twenty.

    Raises:
        BadInput: one of the two times has no time zone.
    """
    if then.tzinfo is None or now.tzinfo is None:
        raise BadInput(f"both times must have a time zone, got {then!r} and {now!r}; give them a tzinfo")
    is_past, distance = then < now, abs(now - then)
    then = _to_clock(then, now)
    days = abs(now.date() - then.date()).days
    if distance < MINUTE:
        return Distance("now", 0, is_past)
    if distance < HOUR:
        return Distance("minute", distance // MINUTE, is_past)
    if days == 0:
        return Distance("hour", distance // HOUR, is_past)
    if days == 1:
        return Distance("yesterday" if is_past else "tomorrow", 1, is_past)
    return Distance(*_count_days(days, _months_between(*sorted((then, now)))), is_past)


def format_relative_time(then: datetime, now: datetime) -> str:
    """Format a time relative to now: "20 minutes ago", "yesterday", "5 months ago"; of the future "in 3 days".

    Raises:
        BadInput: one of the two times has no time zone.
    """
    distance = measure_distance(then, now)
    if distance.unit == "now":
        return "just now"
    if distance.unit in ("yesterday", "tomorrow"):
        return distance.unit
    duration = _format_count(distance.number, distance.unit)
    return f"{duration} ago" if distance.is_past else f"in {duration}"


def _to_clock(then: datetime, now: datetime) -> datetime:
    """Convert a time to now's zone; at the ends of the calendar only its zone is replaced."""
    try:
        return then.astimezone(now.tzinfo)
    except OverflowError:
        return then.replace(tzinfo=now.tzinfo)


def _count_days(days: int, months: int) -> tuple[str, int]:
    """Return the unit in which a number of days is counted, and how many of it they are."""
    if days < WEEKS_FROM_DAYS:
        return "day", days
    if months < 2:
        return "week", days // 7
    return ("year", months // 12) if months >= 24 or months == 12 else ("month", months)


def _months_between(first: datetime, last: datetime) -> int:
    """Return the number of whole months between two days."""
    return (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)


def _format_count(number: int, unit: str) -> str:
    if number == 1:
        return f"an {unit}" if unit == "hour" else f"a {unit}"
    return f"{number} {unit}s"
