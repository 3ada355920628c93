r"""Reads the dates and times before WhatsApp's messages, which have the form of the language and region of the phone.

The order of day, month and year is inferred from a whole chat (`find_reading`): of the readings in which less than a
quarter of the stamps are impossible, the one in which the fewest dates are impossible or go back is taken. If several
fit equally well, the chat is ambiguous; then the one with the shortest span is taken, then one of the last ten years,
then the day first. But dates like 13.05.24 are of regions in which the day comes first, so that this reading is taken,
without ambiguity. A chat is also ambiguous if fewer dates are impossible in another reading, because a single stamp
that was pasted from another chat may be impossible in the right one. A date is impossible if it doesn't exist, is in
the future, or is older than WhatsApp.

Years are of the Gregorian calendar, of the Buddhist one, as in Thailand, or of the Persian one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import groupby, pairwise

from everthread.transfer.dates import parse_clock
from everthread.transfer.types import DATE_ORDERS, AmbiguousDate
from everthread.transfer.whatsapp_phrases import AFTER_DATE, AFTER_TIME, BEFORE_TIME, DAY_PERIOD, MARK, is_morning
from everthread.types import now

Numbers = tuple[int, int, int]

FIRST_YEAR = 2009  # of WhatsApp
RECENT_YEARS = 10  # from which most chats are
MIN_YEAR = 2000  # that is read, because a phone's clock may be wrong
MAX_ODD_SHARE = 1 / 4  # of the lines that look like the beginning of a message
BUDDHIST_OFFSET = 543  # years by which the Buddhist calendar is ahead; its days are the Gregorian ones
PERSIAN_EPOCH = date(622, 3, 21).toordinal()  # the first day of the year 1, in the Gregorian calendar
_CENTURY = {"gregorian": 2000, "buddhist": 2500}  # of years of two digits
_LONG_MONTHS = 6  # of the Persian calendar, which have 31 days

_DATE = (
    rf"(?P<date>(?P<first>\d{{1,4}}){MARK}?(?P<mark>[./-]|년|年)\s?(?P<second>\d{{1,2}}){MARK}?(?:(?P=mark)|월|月)\s?"
    rf"(?P<third>\d{{4}}|\d{{1,2}})(?:\.|일|日|\s?{AFTER_DATE})?)"
)
_CLOCK = r"\d{1,2}(?:[:.]|\sh\s)\d{2}(?P<seconds>(?:[:.]|\smin\s)\d{2}(?:\ss)?)?"  # in Canadian French 21 h 05 min 12 s
_TIME = (
    rf"(?P<time>(?:(?P<before>{DAY_PERIOD})\s?)?(?P<clock>{_CLOCK})"
    rf"(?:\s?(?:(?P<after>{DAY_PERIOD})|{AFTER_TIME}))?)"
)
_END = rf"{MARK}?(?P<end>\]|\s-)\s(?P<content>.*)"
_DATE_FIRST, _TIME_FIRST = (
    re.compile(rf"{MARK}*\[?{MARK}?{stamp}{_END}", re.IGNORECASE)
    for stamp in (rf"{_DATE}{MARK}?[,،]?\s(?:{BEFORE_TIME}\s)?{_TIME}", rf"{_TIME}{MARK}?[,،]?\s{_DATE}")
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date and a time at the beginning of a line, and what follows.

    Attributes:
        numbers: the numbers of the date, in their order.
        is_time_first: whether the time comes before the date.
        shows_export: whether a transcript has no such stamp.
    """

    date: str
    time: str
    clock: str  # with colons
    numbers: Numbers
    is_time_first: bool
    shows_export: bool
    content: str


def match_stamp(line: str) -> Stamp | None:
    """Return the stamp of a line; None if it has none."""
    match = _DATE_FIRST.match(line) or _TIME_FIRST.match(line)
    if match is None:
        return None
    numbers = int(match["first"]), int(match["second"]), int(match["third"])
    in_brackets = match["end"] == "]" and "," not in line[: match.start("content")]
    has_words = bool(match["before"]) or "h" in match["clock"].lower()
    has_own_form = has_words or (match["seconds"] is not None and len(match["first"]) <= 2)
    is_time_first = match.start("time") < match.start("date")
    shows_export = not in_brackets or has_own_form
    return Stamp(
        match["date"], match["time"], _normalize_clock(match), numbers, is_time_first, shows_export, match["content"]
    )


def _normalize_clock(match: re.Match[str]) -> str:
    """Return the time of day of a stamp in the form of `parse_clock`."""
    clock = ":".join(re.findall(r"\d+", match["clock"]))
    period = match["before"] or match["after"]
    if not period:
        return clock
    hour, rest = clock.split(":", 1)
    hour = "12" if int(hour) == 0 else hour  # Japanese hours are from 0 to 11
    return f"{hour}:{rest}{'am' if is_morning(period) else 'pm'}"


@dataclass(frozen=True, slots=True)
class Reading:
    """How the stamps of a chat are read.

    Attributes:
        order: one of `DATE_ORDERS`.
        calendar: the calendar of the years.
        is_time_first: whether the time comes before the date.
        leaves_odd: whether there are lines with impossible stamps that belong to the messages before them.
        ambiguous: a date that another order, which fits as well, reads otherwise; None if no other order fits.
    """

    order: str
    calendar: str = "gregorian"
    is_time_first: bool = False
    leaves_odd: bool = False
    ambiguous: AmbiguousDate | None = None

    def make_date(self, numbers: Numbers) -> date:
        """Return the date with these numbers. Raises ValueError if it doesn't exist."""
        first, second, third = numbers
        order = "ymd" if first > 31 else self.order
        year, month, day = {"dmy": (third, second, first), "mdy": (third, first, second), "ymd": numbers}[order]
        if self.calendar == "persian":
            return _from_persian(year if year > 99 else 1300 + year if year > 50 else 1400 + year, month, day)
        year += _CENTURY[self.calendar] if year < 100 else 0
        return date(year - (BUDDHIST_OFFSET if self.calendar == "buddhist" else 0), month, day)

    def parse(self, stamp: Stamp) -> datetime:
        """Return the local time of a stamp. Raises ValueError if it doesn't exist."""
        day = self.make_date(stamp.numbers)
        return parse_clock(stamp.clock, datetime(day.year, day.month, day.day))

    def begins_message(self, stamp: Stamp) -> bool:
        """Return whether a stamp begins a message, not a line of the message before it."""
        if stamp.is_time_first != self.is_time_first:
            return False
        if not self.leaves_odd:
            return True
        try:
            return is_possible(self.parse(stamp).date())
        except ValueError:
            return False


_READINGS = (*map(Reading, DATE_ORDERS), Reading("dmy", "buddhist"), Reading("ymd", "persian"))
# Without blanks, and without a dot at the end: Koreans and Hungarians write "24. 5. 13.", with the year first.
_DAY_FIRST_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})")


def is_possible(day: date) -> bool:
    """Return whether a message may have this date. A phone's clock may be wrong by some years, not by centuries."""
    return MIN_YEAR <= day.year <= now().year + 1


def _is_likely(day: date) -> bool:
    """Return whether WhatsApp existed on this day, and it is not in the future; another zone may be a day ahead."""
    return day.year >= FIRST_YEAR and day <= now().date() + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Day:
    """Stamps with the same date, one after the other."""

    text: str
    numbers: Numbers
    stamps: int
    bad_clocks: int


def find_reading(stamps: Iterable[Stamp], order: str | None = None) -> Reading:
    """Return the reading that fits the stamps of a chat best.

    Args:
        stamps: the stamps, in order.
        order: the order of day, month and year, if it is known; a chat in which a quarter of the stamps are impossible
            in it is read otherwise.
    """
    is_time_first, days = _list_days(stamps)
    fits = {reading: _measure_fit(reading, days) for reading in _list_likely_readings(days, order)}
    has_dots = all(_DAY_FIRST_DATE.fullmatch(day.text) for day in days)

    def is_usual(reading: Reading) -> bool:
        return has_dots and reading == Reading("dmy")

    best = min(fits, key=lambda reading: (fits[reading], not is_usual(reading), _measure_span(reading, days)))
    impossible = _count_impossible(best, days)
    rivals = [
        reading
        for reading, fit in fits.items()
        if reading != best
        and ((fit == fits[best] and not is_usual(best)) or _count_impossible(reading, days) < impossible)
    ]
    odd = sum(
        each.bad_clocks if day is not None and is_possible(day) else each.stamps
        for each, day in zip(days, _list_dates(best, days), strict=True)
    )
    leaves_odd = 0 < odd < MAX_ODD_SHARE * sum(each.stamps for each in days)
    return replace(
        best, is_time_first=is_time_first, leaves_odd=leaves_odd, ambiguous=_find_ambiguous(days, best, rivals)
    )


def _list_days(stamps: Iterable[Stamp]) -> tuple[bool, list[_Day]]:
    """Return whether the time comes first in a chat, and the days of the stamps for which that holds."""
    is_time_first, days = False, list[_Day]()
    for numbers, group in groupby(stamps, key=lambda stamp: stamp.numbers):
        of_day = list(group)
        is_time_first = is_time_first if days else of_day[0].is_time_first
        own = [stamp for stamp in of_day if stamp.is_time_first == is_time_first]
        days += [_Day(own[0].date, numbers, len(own), sum(not _has_clock(stamp) for stamp in own))] if own else []
    return is_time_first, days


def _has_clock(stamp: Stamp) -> bool:
    try:
        return bool(parse_clock(stamp.clock, datetime.min))
    except ValueError:
        return False


def _list_dates(reading: Reading, days: Iterable[_Day]) -> list[date | None]:
    """Return the dates; None for one that doesn't exist."""
    dates: list[date | None] = []
    for day in days:
        try:
            dates.append(reading.make_date(day.numbers))
        except ValueError:
            dates.append(None)
    return dates


def _list_likely_readings(days: Sequence[_Day], order: str | None) -> list[Reading]:
    """Return the readings in which few stamps are impossible, or the fewest; those of the given order if there are."""
    impossible = {reading: _count_impossible(reading, days) for reading in _READINGS}
    fewest, limit = min(impossible.values()), MAX_ODD_SHARE * sum(each.stamps for each in days)
    likely = [reading for reading, stamps in impossible.items() if stamps == fewest or stamps < limit]
    return [reading for reading in likely if reading.order == order] or likely


def _count_impossible(reading: Reading, days: Sequence[_Day]) -> int:
    """Return the number of stamps whose dates are impossible."""
    dates = _list_dates(reading, days)
    return sum(each.stamps for each, day in zip(days, dates, strict=True) if day is None or not _is_likely(day))


def _measure_fit(reading: Reading, days: Iterable[_Day]) -> tuple[int, bool]:
    """Return the number of dates that are impossible or go back, and whether the calendar is a rare one."""
    dates = _list_dates(reading, days)
    existing = [day for day in dates if day is not None]
    impossible = sum(day is None or not _is_likely(day) for day in dates)
    backward_steps = sum(later < earlier for earlier, later in pairwise(existing))
    return impossible + backward_steps, reading.calendar != "gregorian"


def _measure_span(reading: Reading, days: Iterable[_Day]) -> tuple[int, bool]:
    """Return the days between the first date and the last, and whether the last is old, which is less likely."""
    likely = [day for day in _list_dates(reading, days) if day is not None and _is_likely(day)]
    return ((max(likely) - min(likely)).days, max(likely).year < now().year - RECENT_YEARS) if likely else (0, False)


def _find_ambiguous(days: Sequence[_Day], best: Reading, rivals: Collection[Reading]) -> AmbiguousDate | None:
    """Return an example of the dates that other readings read otherwise; None if all agree."""
    dates = _list_dates(best, days)
    for rival in rivals:
        for each, day, other in zip(days, dates, _list_dates(rival, days), strict=True):
            if day is not None and other is not None and day != other:
                return AmbiguousDate(each.text, best.order, day, rival.order, other)
    return None


def _from_persian(year: int, month: int, day: int) -> date:
    """Return a day of the Persian calendar. Raises ValueError if it doesn't exist."""
    is_leap = (25 * year + 11) % 33 < 8  # right from 1178 to 1633
    length = 31 if month <= _LONG_MONTHS else 30 if month < 12 or is_leap else 29
    if not (1 <= month <= 12 and 1 <= day <= length):
        raise ValueError(f"not a day of the Persian calendar: {year}/{month}/{day}")
    days_before = 365 * (year - 1) + (8 * year + 21) // 33 + 30 * (month - 1) + min(month - 1, _LONG_MONTHS)
    return date.fromordinal(PERSIAN_EPOCH + days_before + day - 1)
