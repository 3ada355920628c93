"""The words for times, once: questions about the past (`time_expressions`) and announcements (`chat.events`) read them.

All words are folded, as `analyzer.normalize` gives them. The patterns have one group each, the word.
"""

from __future__ import annotations

from datetime import timedelta

DAY = timedelta(days=1)
WEEK = 7 * DAY
CALENDAR_YEARS = range(1002, 9000)  # in which times are computed: the calendar must have the day 999 years before

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
HAN_WEEKDAYS = "一二三四五六日天"  # Sunday has two
PART_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 29)}  # of a day, and on

_CARDINALS = "one two three four five six seven eight nine ten eleven twelve".split()
COUNTS = {word: number for number, word in enumerate(_CARDINALS, 1)}
COUNTS |= {"a": 1, "an": 1, "couple": 2, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
HAN_COUNTS = {word: number for number, word in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "几": 3}


MONTH = f"({'|'.join(MONTHS)})"
WEEKDAY = f"({'|'.join(WEEKDAYS)})"
HAN_WEEKDAY = f"([{HAN_WEEKDAYS}])"
COUNT = rf"(\d{{1,3}}|{'|'.join(sorted(COUNTS, key=len, reverse=True))})"
HAN_COUNT = rf"(\d{{1,3}}|[{''.join(HAN_COUNTS)}])"


def read_count(count: str) -> int:
    """Return the number that COUNT or HAN_COUNT has matched."""
    return COUNTS.get(count) or HAN_COUNTS.get(count) or int(count)


def read_month(month: str) -> int:
    """Return the number of a month, from 1."""
    return MONTHS.index(month) + 1


def read_weekday(weekday: str) -> int:
    """Return the number of a weekday, from 0 for Monday."""
    return WEEKDAYS.index(weekday) if weekday in WEEKDAYS else min(HAN_WEEKDAYS.index(weekday), 6)
