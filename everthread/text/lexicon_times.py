"""Finds the times that a question in another language than English names, by the words of its lexicon. Pure.

`time_expressions` reads English, which has more rules: parts of a day, weekdays, "on Friday".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from everthread.text.analyzer import fold
from everthread.text.lexicon import LEXICONS, Lexicon
from everthread.text.questions import is_question
from everthread.text.time_expressions import Date, Span, Time, calendar_unit, day_ago, span_ago
from everthread.text.time_words import CALENDAR_YEARS
from everthread.text.word_lists import alternation

_READERS: Mapping[str, Callable[[datetime], Span]] = {
    "day_before_yesterday": lambda today: day_ago(today, 2),
    "yesterday": lambda today: day_ago(today, 1),
    "last_weekend": lambda today: calendar_unit(today, "weekend", -1),
    "last_week": lambda today: calendar_unit(today, "week", -1),
    "last_month": lambda today: calendar_unit(today, "month", -1),
    "last_year": lambda today: calendar_unit(today, "year", -1),
}
# Times that are not over: read if the question has a word of its language's `overview`, which is about the past.
_PRESENT_READERS: Mapping[str, Callable[[datetime], Span]] = {
    "today": lambda today: day_ago(today, 0),
    "this_week": lambda today: calendar_unit(today, "week", 0),
    "this_month": lambda today: calendar_unit(today, "month", 0),
    "this_year": lambda today: calendar_unit(today, "year", 0),
}
_UNITS = ("day", "week", "month", "year")


def _compile_months(lexicon: Lexicon) -> tuple[re.Pattern[str], dict[str, int]] | None:
    """Return a pattern for a month with or without its day and year, and the number of each name."""
    numbers = {
        name: number for number, names in enumerate(lexicon.times.get("months", ()), 1) for name in names.split("|")
    }
    if not numbers:
        return None
    day, year = r"(?:\b(\d{1,2})(?:\.|er|o|°)?\s+(?:de\s+)?)?", r"(?:\s+(?:del?\s+)?(\d{4})\b)?"
    return re.compile(rf"{day}\b({'|'.join(numbers)})\b{year}"), numbers


def _compile_phrases(lexicon: Lexicon, phrases: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for any of the phrases; without phrases, one that never matches."""
    edge = r"\b" if lexicon.stemmer else ""  # in scripts without spaces a phrase is within a run of characters
    return re.compile(rf"{edge}{alternation(phrases)}{edge}" if phrases else "(?!)")


@dataclass(frozen=True, slots=True)
class _Ago:
    """How a language says how long ago something was: its phrases, numbers in words, and the pattern of each unit."""

    phrases: Sequence[re.Pattern[str]]
    counts: Mapping[str, int]
    units: Mapping[str, re.Pattern[str]]

    def read(self, match: re.Match[str], today: datetime) -> Span:
        """Return the span about that long ago."""
        unit = next(name for name, pattern in self.units.items() if pattern.fullmatch(match["unit"]))
        count = match["count"] or "1"  # "a week ago" is "неделю назад", without a number
        return span_ago(today, self.counts.get(count) or int(count), unit)


def _compile_ago(lexicon: Lexicon) -> _Ago | None:
    ago = lexicon.ago
    if not ago:
        return None
    edge = r"\b" if lexicon.stemmer else ""
    counts, units = ago["counts"], {unit: ago[unit] for unit in _UNITS}
    words = "|".join(sorted(counts, key=len, reverse=True))
    groups = {"count": rf"(?P<count>\d{{1,3}}|{words})", "unit": f"(?P<unit>{'|'.join(units.values())})"}
    phrases = [re.compile(f"{edge}{phrase.format(**groups)}{edge}") for phrase in ago["phrases"]]
    return _Ago(phrases, counts, {unit: re.compile(form) for unit, form in units.items()})


_MONTHS = {name: compiled for name, lexicon in LEXICONS.items() if (compiled := _compile_months(lexicon))}
_RELATIVE = {
    name: [(_compile_phrases(lexicon, lexicon.times.get(kind, ())), read) for kind, read in _READERS.items()]
    for name, lexicon in LEXICONS.items()
}
_PRESENT = {
    name: [(_compile_phrases(lexicon, lexicon.times.get(kind, ())), read) for kind, read in _PRESENT_READERS.items()]
    for name, lexicon in LEXICONS.items()
}
_OVERVIEW = {name: _compile_phrases(lexicon, sorted(map(fold, lexicon.overview))) for name, lexicon in LEXICONS.items()}
_AGO = {name: ago for name, lexicon in LEXICONS.items() if (ago := _compile_ago(lexicon))}
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
    """Find the relative times in the past ("gestern", "il y a deux mois") of a question. Statements have none.

    Returns:
        The times, and the question without them.
    """
    times: list[Time] = []
    if now.year not in CALENDAR_YEARS or not ("?" in folded or is_question(folded)):
        return (), folded
    today = datetime(now.year, now.month, now.day)
    if (ago := _AGO.get(language)) is not None:
        for pattern in ago.phrases:
            times += [ago.read(match, today) for match in pattern.finditer(folded)]
            folded = pattern.sub(" ", folded)
    present = _PRESENT[language] if _OVERVIEW[language].search(fold(folded)) else []
    for pattern, read in [*_RELATIVE[language], *present]:
        if pattern.search(folded):
            times.append(read(today))
            folded = pattern.sub(" ", folded)
    return tuple(times), folded
