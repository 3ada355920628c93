"""How long ago something was, as people say it, for a prompt: models calculate badly with dates. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from everthread.errors import BadInput

WEEKS_FROM_DAYS = 14  # from here on weeks are counted; "9 days ago" says more than "a week ago"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def format_relative_time(then: datetime, now: datetime) -> str:
    """ "20 minutes ago", "yesterday", "5 months ago"; of what is to come "tomorrow", "in 3 days".

    Days, months and years are those of the calendar on now's clock, and only whole ones count: the evening before is
    "yesterday", whether it is ten hours ago or twenty. BadInput if one of the two has no zone.
    """
    if then.tzinfo is None or now.tzinfo is None:
        raise BadInput(f"both times need a zone to be compared, got {then!r} and {now!r}; give them a tzinfo")
    past, apart = then < now, abs(now - then)
    then = _to_clock(then, now)
    days = abs(now.date() - then.date()).days
    if apart < MINUTE:
        return "just now"
    if apart < HOUR or days == 0:
        long = _format_count(apart // HOUR, "hour") if apart >= HOUR else _format_count(apart // MINUTE, "minute")
    elif days == 1:
        return "yesterday" if past else "tomorrow"
    else:
        long = _format_days(days, _months_between(*sorted((then, now))))
    return f"{long} ago" if past else f"in {long}"


def _to_clock(then: datetime, now: datetime) -> datetime:
    """The moment as now's clock shows it, or about so, where the calendar ends."""
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
    """How many whole months lie between two days."""
    return (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)


def _format_count(number: int, unit: str) -> str:
    if number == 1:
        return f"an {unit}" if unit == "hour" else f"a {unit}"
    return f"{number} {unit}s"
