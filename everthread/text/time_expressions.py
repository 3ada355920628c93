"""Finds the times that a question names: absolute dates and relative expressions. Pure: the clock is an argument.

All times are on the speakers' own clocks, without a zone: a line said at 23:30 was said on that day, wherever that was.
A word is read as a time only if it can hardly be anything else: "Sunday roast" and "yesterday's cake" are not. Future
times ("What are we doing on Friday?") are ignored, since nothing was said then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from everthread.text.time_words import (
    CALENDAR_YEARS,
    COUNT,
    DAY,
    MONTH,
    MONTH_OF_DAY,
    PART_HOURS,
    WEEK,
    WEEKDAY,
    read_count,
    read_month,
    read_weekday,
)
from everthread.text.word_lists import alternation, load_word_lists

MAX_YEARS_BACK = 20  # years that a date without a year may be in the past
MONTHS_OF_SEASON, MONTHS_OF_YEAR = 3, 12


@dataclass(frozen=True, slots=True)
class Date:
    """A date with the parts that were named."""

    month: int
    year: int | None = None
    day: int | None = None

    def spans(self, now: datetime) -> Iterator[Span]:
        """Yield the spans of the date, the latest first; none if the calendar has no such date."""
        for year in (self.year,) if self.year is not None else range(now.year, now.year - MAX_YEARS_BACK, -1):
            with suppress(ValueError, OverflowError):
                first = datetime(year, self.month, self.day or 1)
                yield Span(first, first + DAY if self.day else _month(first, 1))


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time on the speaker's own clock; the end is excluded."""

    first: datetime
    end: datetime

    def spans(self, now: datetime) -> Iterator[Span]:
        """Yield itself."""
        yield self

    @property
    def is_short(self) -> bool:
        """True for at most a week and a day."""
        return self.end - self.first <= WEEK + DAY


Time = Date | Span


def find_absolute_times(folded: str) -> tuple[tuple[Time, ...], str]:
    """Find the days named in a question ("8 May", "2023-05-08", "8.5.2023", "5月8日"), else the months, else the years.

    "1/5/24" is the first of May or the fifth of January; both are returned.

    Returns:
        The times, and the question without them.
    """
    months = _MONTH_RULES if _SURE_MONTH.search(folded) else _SURE_MONTH_RULES
    for rules in (_DAY_RULES, months, _YEAR_RULES) if _DIGIT.search(folded) else (months,):
        times, rest = _apply_rules(folded, rules)
        if times:
            return times, rest
    return (), folded


def find_relative_times(folded: str, now: datetime) -> tuple[tuple[Time, ...], str]:
    """Find the relative times ("yesterday", "last week", "three months ago") of a question.

    Times in a statement ("I slept badly last night.") are ignored, even if a question follows it.

    Returns:
        The times, and the question without them.
    """
    if now.year not in CALENDAR_YEARS:
        return (), folded
    today = datetime(now.year, now.month, now.day)
    readings = [_read_sentence(sentence, today) for sentence in _SENTENCE.split(folded)]
    return tuple(time for times, _ in readings for time in times), " ".join(rest for _, rest in readings)


def find_seasons(folded: str, now: datetime) -> tuple[tuple[Time, ...], str]:
    """Find the seasons ("last spring", "in summer 2025") of a question about the past.

    They are no times like the others: what was said of a summer was often said in autumn, so they serve only where a
    question has no topic.

    Returns:
        The seasons, and the question without them.
    """
    if now.year not in CALENDAR_YEARS or not is_about_past(folded):
        return (), folded
    return _apply_rules(folded, _SEASON_RULES, datetime(now.year, now.month, now.day))


def _read_sentence(sentence: str, today: datetime) -> tuple[tuple[Time, ...], str]:
    text = " ".join(sentence.split())
    if not (_RELATIVE.search(text) and _QUESTION.search(text)):
        return (), text
    return _apply_rules(text, _PAST_RULES + _PRESENT_RULES if is_about_past(text) else _PAST_RULES, today)


def is_about_past(text: str) -> bool:
    """Return whether a text asks about the past."""
    return bool(_QUESTION.search(text) and _PAST.search(text) and not _FUTURE.search(text))


# -------------------------------------------------------------------- calendar


def day_ago(today: datetime, days: int, part: str | None = None) -> Span:
    """Return the day `days` days ago, or a part of it. The night lasts until the next morning."""
    first, end = PART_HOURS[part] if part else (0, 24)
    day = today - days * DAY
    return Span(day + timedelta(hours=first), day + timedelta(hours=end))


def _days_since(today: datetime, weekday: str) -> int:
    """Return how many days ago that weekday was; 7 if it is today."""
    return (today.weekday() - read_weekday(weekday) - 1) % 7 + 1


def calendar_unit(today: datetime, unit: str, step: int) -> Span:
    """Return the week (from Monday), weekend, month or year of today, or the one `step` units later."""
    if unit == "month":
        return Span(_month(today, step), _month(today, step + 1))
    if unit == "year":
        return Span(datetime(today.year + step, 1, 1), datetime(today.year + step + 1, 1, 1))
    monday = today - today.weekday() * DAY + step * WEEK
    return Span(monday + 5 * DAY if unit == "weekend" else monday, monday + WEEK)


def _season(today: datetime, name: str, year: str | None = None, ended: bool = False) -> Span:
    """Return the northern season of a year, or the latest one that has begun or, if asked for, ended."""
    month = _EN["seasons"][name]
    if year is not None:
        first = datetime(int(year), month, 1)
        return Span(first, _month(first, MONTHS_OF_SEASON))
    first = datetime(today.year, month, 1)
    while (_month(first, MONTHS_OF_SEASON) if ended else first) > today:
        first = _month(first, -MONTHS_OF_YEAR)
    return Span(first, _month(first, MONTHS_OF_SEASON))


def span_ago(today: datetime, count: int, unit: str) -> Span:
    """Return the span about that long ago: up to half a unit sooner or later."""
    day, half_unit = today - round(count * _UNIT_DAYS[unit]) * DAY, _UNIT_DAYS[unit] // 2 * DAY
    return Span(day - half_unit, day + half_unit + DAY)


def _duration(count: str, unit: str) -> timedelta:
    """Return the duration of `count` units, in whole days."""
    return round(read_count(count) * _UNIT_DAYS[unit]) * DAY


def _month(at: datetime, step: int) -> datetime:
    """Return the first day of the month `step` months later."""
    year, month = divmod(at.year * 12 + at.month - 1 + step, 12)
    return datetime(year, month + 1, 1)


def _read_either_order(first: int, second: int, year: int) -> tuple[Date, ...]:
    """Return the dates that two numbers and a year may mean: day and month, or month and day."""
    year += 0 if year > 99 else 2000
    orders = dict.fromkeys(((first, second), (second, first)))
    return tuple(Date(month, year, day) for day, month in orders if 1 <= month <= 12 and 1 <= day <= 31)


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None


# ----------------------------------------------------------------------- rules

# A pattern, and the function that reads its match: the times that it may mean.
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Iterable[Time]]]


def _apply_rules(text: str, rules: Iterable[_Rule], today: datetime = datetime.min) -> tuple[tuple[Time, ...], str]:
    """Apply each rule to the text without the matches of earlier rules; return the times and the remaining text."""
    times: list[Time] = []
    for pattern, read in rules:
        if matches := list(pattern.finditer(text)):
            times += [time for match in matches for time in read(match, today)]
            text = pattern.sub(" ", text)
    return tuple(times), text


def _rule(pattern: str, read: Callable[[re.Match[str], datetime], Time]) -> _Rule:
    """Return a rule for a pattern that means one time."""
    return re.compile(pattern), lambda match, today: (read(match, today),)


def _relative(pattern: str, read: Callable[[re.Match[str], datetime], Time]) -> _Rule:
    """Return a rule for a relative time without a neighbouring word that makes it another time.

    The pattern begins at a word boundary: the look-behinds at every letter took half of the time of parsing a question.
    """
    return _rule(rf"\b{_NO_BARRIER}{pattern}\b(?!['-]| of\b)", read)


_EN = load_word_lists(__file__)["en"]
_NO_BARRIER = "".join(rf"(?<!\b{word} )" for word in _EN["barriers"])
_YEAR = r"(?:,?[\s-]+(\d{4})\b)?"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_NO_NUMBER_BEFORE, _NO_NUMBER_AFTER = r"(?<!\d)(?<!\d[./-])", r"(?![./-]?\d)"
_PART = rf"(?: ({'|'.join(PART_HOURS)}))?"
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}  # days
_UNIT = rf"({'|'.join(_UNIT_DAYS)})"

_DAY_RULES = (
    _rule(
        rf"\b{_NTH}[\s-]+(?:of\s+)?{MONTH_OF_DAY}\b\.?{_YEAR}",
        lambda m, _: Date(read_month(m[2]), _int(m[3]), int(m[1])),
    ),
    _rule(
        rf"\b{MONTH_OF_DAY}\b\.?[\s-]+{_NTH}\b(?!\d){_YEAR}",
        lambda m, _: Date(read_month(m[1]), _int(m[3]), int(m[2])),
    ),
    _rule(
        rf"{_NO_NUMBER_BEFORE}(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_NO_NUMBER_AFTER}",
        lambda m, _: Date(int(m[3]), int(m[1]), int(m[4])),
    ),
    _rule(
        rf"{_NO_NUMBER_BEFORE}(\d{{1,2}})([.-])(\d{{1,2}})\2(\d{{4}}){_NO_NUMBER_AFTER}",
        lambda m, _: Date(int(m[3]), int(m[4]), int(m[1])),
    ),
    (
        re.compile(rf"{_NO_NUMBER_BEFORE}(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}|\d{{2}}){_NO_NUMBER_AFTER}"),
        lambda m, _: _read_either_order(int(m[1]), int(m[2]), int(m[3])),
    ),
    _rule(
        r"(?:(\d{4})[年년] ?)?(\d{1,2})[月월](?: ?(\d{1,2})[日号號일])?",
        lambda m, _: Date(int(m[2]), _int(m[1]), _int(m[3])),
    ),
)
_DIGIT = re.compile(r"\d")  # only months are named without
_OF_YEAR = r"\b(?:,?\s+(?:of\s+)?(\d{4})\b)?"
_MONTH_RULES = (_rule(rf"\b{MONTH}{_OF_YEAR}", lambda m, _: Date(read_month(m[1]), _int(m[2]))),)
# "May" and "march" are verbs more often than months; they are months after such a word, or before a year.
_SURE_MONTH_RULES = (_rule(rf"\b(?!may|march){MONTH}{_OF_YEAR}", lambda m, _: Date(read_month(m[1]), _int(m[2]))),)
_SURE_MONTH = re.compile(
    rf"\b{alternation(_EN['before_month'])}[ -](?:may|march)\b|\b(?:may|march),?\s+(?:of\s+)?\d{{4}}\b"
)
_YEAR_RULES = (
    _rule(
        r"\b(?:in|during|throughout)\s+((?:19|20)\d\d)\b(?!\s*+(?:[-/:.,]\s*+)?\d)",
        lambda m, _: Span(datetime(int(m[1]), 1, 1), datetime(int(m[1]) + 1, 1, 1)),
    ),
)
_PAST_RULES = (
    _rule(r"\b(?:the )?day before yesterday\b(?!['-])", lambda m, today: day_ago(today, 2)),
    _relative(f"yesterday{_PART}", lambda m, today: day_ago(today, 1, m[1])),
    _relative("last (night|evening)", lambda m, today: day_ago(today, 1, m[1])),
    _relative(f"last {WEEKDAY}{_PART}", lambda m, today: day_ago(today, _days_since(today, m[1]), m[2])),
    _relative("last (week|weekend|month|year)", lambda m, today: calendar_unit(today, m[1], -1)),
    _relative(f"{COUNT} {_UNIT}s? ago", lambda m, today: span_ago(today, read_count(m[1]), m[2])),
    _rule(
        rf"\b(?:in|over|during|within|for|from) the (?:last|past) (?:{COUNT} )?{_UNIT}s?\b(?!['-]| of\b)",
        lambda m, today: Span(today - _duration(m[1] or "a", m[2]), today + DAY),
    ),
)
# A text without any of these matches no rule here, which takes a twentieth of the time of trying them.
_RELATIVE = re.compile(r"yesterday|last|past|ago|today|tonight|this|\bon ")
# Times that are not over, or not only past: read if the question asks about the past.
_PRESENT_RULES = (
    _relative("today", lambda m, today: day_ago(today, 0)),
    _relative("tonight", lambda m, today: day_ago(today, 0, "night")),
    _relative("this (morning|afternoon|evening)", lambda m, today: day_ago(today, 0, m[1])),
    _relative(f"on {WEEKDAY}{_PART}", lambda m, today: day_ago(today, _days_since(today, m[1]), m[2])),
    _relative(f"this {WEEKDAY}{_PART}", lambda m, today: day_ago(today, today.weekday() - read_weekday(m[1]), m[2])),
    _relative("this (week|weekend|month|year)", lambda m, today: calendar_unit(today, m[1], 0)),
)
_SEASON = rf"({'|'.join(_EN['seasons'])})"
_SEASON_RULES = (
    _rule(
        rf"\b(?:in|during|over) (?:the )?{_SEASON},? (?:of )?((?:19|20)\d\d)\b",
        lambda m, today: _season(today, m[1], m[2]),
    ),
    _rule(rf"\b(?:in|during|over) the {_SEASON}\b(?!['-]| \w+s\b| of\b)", lambda m, today: _season(today, m[1])),
    _relative(f"this {_SEASON}", lambda m, today: _season(today, m[1])),
    _relative(f"(?:last|(?:this|the) past) {_SEASON}", lambda m, today: _season(today, m[1], ended=True)),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_QUESTION = re.compile(rf"\?|^\W*(?:{alternation(_EN['openers'])},? )*{alternation(_EN['questions'])}\b")
_PAST = re.compile(rf"\b{alternation(_EN['past'])}\b")
_FUTURE = re.compile(rf"\b{alternation(_EN['future'])}\b|'(?:ll|d)\b")
