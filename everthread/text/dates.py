"""Formats dates in English, whatever the locale of the process. Pure."""

from __future__ import annotations

from datetime import date

from everthread.text.time_words import MONTHS, WEEKDAYS

MONTH_NAMES = tuple(map(str.capitalize, MONTHS))
WEEKDAY_NAMES = tuple(map(str.capitalize, WEEKDAYS))


def format_date(day: date) -> str:
    """Format a date, such as "2 June 2024"."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year:04d}"


def format_long_date(day: date) -> str:
    """Format a date with the day of the week, such as "Sunday, 2 June 2024"."""
    return f"{WEEKDAY_NAMES[day.weekday()]}, {format_date(day)}"
