"""Parses dates and times of transcripts and data sets, and the names of time zones.

Ambiguous dates such as 05/06/2024 are rejected without an order of day, month and year, which `find_order` infers from
all dates of a file. WhatsApp's dates are parsed by `whatsapp`, its clocks here.

Accepted are ISO 8601, "2024-05-01 10:22", "2023/05/30 (Tue) 23:40", "29.12.2023, 10:04:11", "1:56 pm on 8 May, 2023",
"May 8, 2023" and "Monday, 8 May 2023 at 10:22". Month names are English, independently of the locale.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everthread.errors import ConfigError
from everthread.transfer.types import DATE_ORDERS
from everthread.types import now

MAX_DATE_CHARS = 200  # of the longest date with blanks; in a long message, no date is searched for

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(rf"(?<!\d){pattern}(?!\d)", re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        rf"{_DAY}\s+{_MONTH},?\s+{_YEAR}",
        rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}",
    )
)
_AMBIGUOUS = re.compile(r"(?<!\d)\d{1,2}(?P<mark>[-/.])\d{1,2}(?P=mark)(?:\d{4}|\d{2})(?!\d)")  # day or month first
_TIME = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\s*(?P<half>[ap])\.?m\.?)?(?![\d:])",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"\(?\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?\)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s,]|\b(?:on|at)\b", re.IGNORECASE)  # may remain after date and time are removed


def parse_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        ConfigError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of zones, such as Europe
        raise ConfigError(f"unknown time zone {name!r}; expected one such as Europe/Berlin or UTC") from None


def parse_moment(text: str, tz: tzinfo = UTC, order: str | None = None) -> datetime:
    """Parse a date with or without a time of day.

    Args:
        text: the text.
        tz: the zone of a time without an offset.
        order: the order of day, month and year, one of `DATE_ORDERS`, in dates such as 05/06/2024.

    Raises:
        ValueError: the text has none of the accepted forms.
    """
    if len(text) > MAX_DATE_CHARS:
        raise ValueError("more than a date")
    if order and (date := _AMBIGUOUS.search(text)):
        text = f"{text[: date.start()]}{_write_as_iso(date[0], order)}{text[date.end() :]}"
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        parsed = _parse_written(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=tz)


def has_ambiguous_form(text: str) -> bool:
    """Return whether a text contains a date such as 05/06/2024, whose day or month may come first."""
    return _AMBIGUOUS.search(text) is not None


def find_order(dates: Collection[str]) -> str | None:
    """Return the only order of day, month and year in which all these dates exist, none of them in the future.

    Returns:
        None if several orders fit or none does, or if each date is clear in itself.
    """
    if all(map(is_clear, dates)):
        return None
    latest = now() + timedelta(days=1)  # another zone may be a day ahead
    fitting = [order for order in DATE_ORDERS if all(_fits(date, order, latest) for date in dates)]
    return fitting[0] if len(fitting) == 1 else None


def is_clear(date: str) -> bool:
    """Return whether a date needs no order of day, month and year."""
    try:
        return bool(parse_moment(date))
    except ValueError:
        return False


def _fits(date: str, order: str, latest: datetime) -> bool:
    try:
        return parse_moment(date, order=order) <= latest
    except ValueError:
        return False


def _write_as_iso(date: str, order: str) -> str:
    """Write a date such as 05/06/24, which may not exist, with the year first."""
    numbers = dict(zip(order, map(int, re.findall(r"\d+", date)), strict=True))
    year = numbers["y"] + (2000 if numbers["y"] < 100 else 0)
    return f"{year}-{numbers['m']:02}-{numbers['d']:02}"


def parse_clock(text: str, day: datetime) -> datetime:
    """Parse a time of day, such as "10:22" or "1:56 pm", on a given day.

    Raises:
        ValueError: the text is no time of day.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a time of day: {text!r}")
    hour, minute, second = _read_clock(match)
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)


def looks_like_date(text: str) -> bool:
    """Return whether the whole text has the form of a date, even an impossible (31 June) or ambiguous one (05/06)."""
    if len(text) > MAX_DATE_CHARS:
        return False
    date = next((match for pattern in (*_DATES, _AMBIGUOUS) if (match := pattern.search(text))), None)
    if date is None:
        return False
    rest = _TIME.sub(" ", text[: date.start()] + " " + text[date.end() :])
    return not _SEPARATOR.sub("", _WEEKDAY.sub("", rest))


def _parse_written(text: str) -> datetime:
    date = next((match for pattern in _DATES if (match := pattern.search(text))), None)
    if date is None:
        raise ValueError(f"no date: {text!r}")
    rest = text[: date.start()] + " " + text[date.end() :]
    time = _TIME.search(rest)
    if time is not None:
        rest = rest[: time.start()] + " " + rest[time.end() :]
    if _SEPARATOR.sub("", _WEEKDAY.sub("", rest)):
        raise ValueError(f"more than a date: {text!r}")
    parts = date.groupdict()
    month = int(parts["month"]) if parts.get("month") else _MONTHS.index(parts["name"][:3].lower()) + 1
    return datetime(int(parts["year"]), month, int(parts["day"]), *(_read_clock(time) if time else (0, 0, 0)))


def _read_clock(match: re.Match[str]) -> tuple[int, int, int]:
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError(f"not an hour from 1 to 12: {match[0]!r}")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour, int(match["minute"]), int(match["second"] or 0)
