"""Formats how long ago something was for a prompt, since models calculate badly with dates. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from everthread.errors import BadInput

WEEKS_FROM_DAYS = 14  # from which weeks are counted; "9 days ago" is more exact than "a week ago"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def format_relative_time(then: datetime, now: datetime) -> str:
    """Format a time relative to now: "20 minutes ago", "yesterday", "5 months ago"; of the future "in 3 days".

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
        return "just now"
    if distance < HOUR or days == 0:
        duration = (
            _format_count(distance // HOUR, "hour") if distance >= HOUR else _format_count(distance // MINUTE, "minute")
        )
    elif days == 1:
        return "yesterday" if is_past else "tomorrow"
    else:
        duration = _format_days(days, _months_between(*sorted((then, now))))
    return f"{duration} ago" if is_past else f"in {duration}"


def _to_clock(then: datetime, now: datetime) -> datetime:
    """Convert a time to now's zone; at the ends of the calendar only its zone is replaced."""
    try:
        return then.astimezone(now.tzinfo)
    except OverflowError:
        return then.replace(tzinfo=now.tzinfo)


def _format_days(days: int, months: int) -> str:
    if days < WEEKS_FROM_DAYS:
        return _format_count(days, "day")
    if months < 2:
        return _format_count(days // 7, "week")
    return _format_count(months // 12, "year") if months >= 24 or months == 12 else _format_count(months, "month")


def _months_between(first: datetime, last: datetime) -> int:
    """Return the number of whole months between two days."""
    return (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)


def _format_count(number: int, unit: str) -> str:
    if number == 1:
        return f"an {unit}" if unit == "hour" else f"a {unit}"
    return f"{number} {unit}s"
