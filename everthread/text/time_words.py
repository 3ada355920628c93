"""The words for times, shared by `time_expressions` (questions about the past) and `chat.events` (announcements).

All words are folded, as `analyzer.normalize` gives them. The patterns have one group each, the word.
"""

from __future__ import annotations

from datetime import timedelta

from everthread.text.word_lists import load_word_lists

DAY = timedelta(days=1)
WEEK = 7 * DAY
CALENDAR_YEARS = range(1002, 9000)  # in which times are computed: the calendar must have the day 999 years before

_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
MONTHS: tuple[str, ...] = tuple(_EN["months"])
WEEKDAYS: tuple[str, ...] = tuple(_EN["weekdays"])
HAN_WEEKDAYS: str = _ZH["weekdays"]
PART_HOURS: dict[str, tuple[int, int]] = {part: (first, end) for part, (first, end) in _EN["part_hours"].items()}
COUNTS: dict[str, int] = _EN["counts"]
HAN_COUNTS: dict[str, int] = _ZH["counts"]


MONTH = f"({'|'.join(MONTHS)})"
MONTH_OF_DAY = f"({'|'.join(MONTHS)}|{'|'.join(_EN['month_abbreviations'])})"
WEEKDAY = f"({'|'.join(WEEKDAYS)})"
HAN_WEEKDAY = f"([{HAN_WEEKDAYS}])"
COUNT = rf"(\d{{1,3}}|{'|'.join(sorted(COUNTS, key=len, reverse=True))})"
HAN_COUNT = rf"(\d{{1,3}}|[{''.join(HAN_COUNTS)}])"


def read_count(count: str) -> int:
    """Return the number that COUNT or HAN_COUNT has matched."""
    return COUNTS.get(count) or HAN_COUNTS.get(count) or int(count)


def read_month(month: str) -> int:
    """Return the number of the month that MONTH or MONTH_OF_DAY has matched, from 1."""
    return 1 + next(number for number, name in enumerate(MONTHS) if name.startswith(month[:3]))


def read_weekday(weekday: str) -> int:
    """Return the number of a weekday, from 0 for Monday."""
    return WEEKDAYS.index(weekday) if weekday in WEEKDAYS else min(HAN_WEEKDAYS.index(weekday), 6)
