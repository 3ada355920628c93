"""Reads the moment from which something holds, or at which it happened, as a line says it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date, datetime, timedelta

from everthread.facts.clauses import COMMA, find_starts
from everthread.facts.grammar import Grammar, Pattern
from everthread.types import Line

WEEK_DAYS = 7
MAX_LEADING_WORDS = 1  # of a clause before a moment that begins it: "then in May Mia moved"


def read_told_moment(match: re.Match[str], said_at: datetime, grammar: Grammar) -> str | None:
    """Read a moment that an expression of a grammar's `since` or `at` has matched.

    Args:
        match: its groups are `year`, `month` and `day`; or `count` and `unit` ("for three years"); `step`, the unit
            before the present one ("last week"); or `days_ago`.
        said_at: when it was said.
        grammar: the grammar of its language.

    Returns:
        The year, month or day ("2019", "2019-05", "2019-05-04") that the words leave no doubt about; None if they
        leave one, or if it is not in the past.
    """
    groups = {name: text.lower() for name, text in match.groupdict().items() if text is not None}
    with suppress(ValueError, OverflowError):
        if "count" in groups and "unit" in groups:
            return _before(said_at.date(), _read_count(groups["count"], grammar), grammar.units[groups["unit"]])
        if "step" in groups:
            return _step_back(said_at.date(), grammar.units[groups["step"]])
        if "days_ago" in groups:
            return (said_at.date() - timedelta(grammar.days_ago[groups["days_ago"]])).isoformat()
        return _read_calendar(groups, said_at.date(), grammar)
    return None


def read_clause_moment(
    text: str, start: int, match: re.Match[str], pattern: Pattern, grammar: Grammar, line: Line
) -> tuple[str | None, bool]:
    """Read the moment that a clause names, after its values or before its subject.

    Args:
        text: the sentence up to the end of the clause.
        start: where the clause begins.
        match: what a form of the pattern has matched.
        pattern: the pattern.
        grammar: the grammar of its language.
        line: the line of the sentence. In an undated one, only a moment with a year is known.

    Returns:
        The moment, if there is one, and whether it is that of an event. Others are those since when something holds.
    """
    since = () if pattern.ends else tuple(grammar.since)
    expressions = (*since, *(grammar.at if pattern.is_event else ()))
    found = find_moment(expressions, lambda each: each.search(text, match.start()))
    if found is not None and COMMA.search(text[match.end() : found.start()].rstrip(" ,，")):
        found = None
    if found is None:
        found = find_moment(expressions, lambda each: each.search(text, 0, start))
        if found is not None and (text[found.end() : start].strip(" ,，") or _ends_clause(found, text, grammar)):
            found = None
    if found is None:
        return None, False
    is_known = not line.is_undated or found.groupdict().get("year") is not None
    return read_told_moment(found, line.said_at, grammar) if is_known else None, found.re not in since


def _ends_clause(found: re.Match[str], text: str, grammar: Grammar) -> bool:
    """Return whether a moment is that of the clause before: "we move in May, Mia got a job"."""
    starts = [at for at, _ in find_starts(grammar, text) if at <= found.start()]
    return len(text[max(starts, default=0) : found.start()].split()) > MAX_LEADING_WORDS


def find_moment(
    expressions: Iterable[re.Pattern[str]], find: Callable[[re.Pattern[str]], re.Match[str] | None]
) -> re.Match[str] | None:
    """Return the first match of any of the expressions."""
    return next((match for match in map(find, expressions) if match is not None), None)


def _read_count(count: str, grammar: Grammar) -> int:
    return grammar.counts[count] if count in grammar.counts else int(count)


def _before(today: date, count: int, unit: str) -> str | None:
    """Return the time `count` units before today, as exactly as the unit is."""
    if unit == "year":
        return f"{date(today.year - count, 1, 1).year:04d}"
    if unit == "month":
        return _month(today, -count)
    if unit == "week":
        return _month_of_week(today - timedelta(WEEK_DAYS * count))
    return (today - timedelta(count)).isoformat()


def _step_back(today: date, unit: str) -> str | None:
    """Return the unit of the calendar before the present one."""
    if unit == "week":
        return _month_of_week(today - timedelta(WEEK_DAYS + today.weekday() - 3))
    return _before(today, 1, unit)


def _month(today: date, step: int) -> str:
    year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
    return f"{date(year, month + 1, 1):%Y-%m}"


def _month_of_week(middle: date) -> str | None:
    """Return the month of the week around a day; None if it is in two."""
    first, last = middle - timedelta(3), middle + timedelta(3)
    return _month(middle, 0) if first.month == last.month else None


def _read_calendar(groups: dict[str, str], today: date, grammar: Grammar) -> str | None:
    """Read a year, month or day of the calendar. A month or day without a year is the latest in the past."""
    month = grammar.months[groups["month"]] if "month" in groups else None
    year = int(groups["year"]) if "year" in groups else None
    if month is None:
        return f"{year:04d}" if year is not None and year <= today.year else None
    day = int(groups.get("day", "1"))
    if year is None:
        year = today.year if (month, day) <= (today.month, today.day) else today.year - 1
    first = date(year, month, day)
    if first > today:
        return None
    return first.isoformat() if "day" in groups else f"{first:%Y-%m}"
