"""Finds the times that a question in another language than English names, by the words of its lexicon. Pure.

`time_expressions` reads English, which has more rules: parts of a day, weekdays, "three months ago".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from everthread.text.lexicon import LEXICONS, Lexicon
from everthread.text.time_expressions import Date, Span, Time, calendar_unit, day_ago
from everthread.text.time_words import CALENDAR_YEARS
from everthread.text.word_lists import alternation

_READERS: Mapping[str, Callable[[datetime], Span]] = {
    "day_before_yesterday": lambda today: day_ago(today, 2),
    "yesterday": lambda today: day_ago(today, 1),
    "last_week": lambda today: calendar_unit(today, "week", -1),
    "last_month": lambda today: calendar_unit(today, "month", -1),
    "last_year": lambda today: calendar_unit(today, "year", -1),
}


def _compile_months(lexicon: Lexicon) -> tuple[re.Pattern[str], dict[str, int]] | None:
    """Return a pattern for a month with or without its day and year, and the number of each name."""
    numbers = {
        name: number for number, names in enumerate(lexicon.times.get("months", ()), 1) for name in names.split("|")
    }
    if not numbers:
        return None
    day, year = r"(?:\b(\d{1,2})(?:\.|er|º|°)?\s+(?:de\s+)?)?", r"(?:\s+(?:del?\s+)?(\d{4})\b)?"
    return re.compile(rf"{day}\b({'|'.join(numbers)})\b{year}"), numbers


def _compile_phrases(lexicon: Lexicon, phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for any of the phrases; without phrases, one that never matches."""
    edge = r"\b" if lexicon.stemmer else ""  # in scripts without spaces a phrase is within a run of characters
    return re.compile(rf"{edge}{alternation(phrases)}{edge}" if phrases else "(?!)")


_MONTHS = {name: compiled for name, lexicon in LEXICONS.items() if (compiled := _compile_months(lexicon))}
_RELATIVE = {
    name: [(_compile_phrases(lexicon, lexicon.times.get(kind, ())), read) for kind, read in _READERS.items()]
    for name, lexicon in LEXICONS.items()
}
_TIME_QUESTIONS = {name: _compile_phrases(lexicon, lexicon.time_questions) for name, lexicon in LEXICONS.items()}


def asks_for_time(folded: str, language: str) -> bool:
    """Return whether a question asks when, or how long."""
    return _TIME_QUESTIONS[language].search(folded) is not None


def find_months(folded: str, language: str) -> tuple[tuple[Time, ...], str]:
    """Find the months that a question names, with their days and years.

    Returns:
        The times, and the question without them.
    """
    if language not in _MONTHS:
        return (), folded
    pattern, numbers = _MONTHS[language]
    times = tuple(
        Date(numbers[match[2]], int(match[3]) if match[3] else None, int(match[1]) if match[1] else None)
        for match in pattern.finditer(folded)
    )
    return times, pattern.sub(" ", folded)


def find_past_times(folded: str, language: str, now: datetime) -> tuple[tuple[Time, ...], str]:
    """Find the relative times in the past ("gestern", "el mes pasado") of a question. Statements have none.

    Returns:
        The times, and the question without them.
    """
    times: list[Time] = []
    if "?" in folded and now.year in CALENDAR_YEARS:
        today = datetime(now.year, now.month, now.day)
        for pattern, read in _RELATIVE[language]:
            if pattern.search(folded):
                times.append(read(today))
                folded = pattern.sub(" ", folded)
    return tuple(times), folded
