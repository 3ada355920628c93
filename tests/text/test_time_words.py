import re

import pytest

from everthread.text.time_words import (
    COUNT,
    COUNTS,
    HAN_COUNT,
    HAN_COUNTS,
    HAN_WEEKDAY,
    MONTH,
    MONTHS,
    WEEKDAY,
    WEEKDAYS,
    read_count,
    read_month,
    read_weekday,
)


@pytest.mark.parametrize(("count", "number"), [("0", 0), ("12", 12), ("twelve", 12), ("a couple of", 2), ("两", 2)])
def test_a_count_is_read_as_a_number(count: str, number: int) -> None:
    assert read_count(count) == number


def test_every_word_for_a_number_is_matched_in_full_and_read() -> None:
    for pattern, counts in ((COUNT, COUNTS), (HAN_COUNT, HAN_COUNTS)):
        for word, number in counts.items():
            assert (match := re.fullmatch(pattern, word)) is not None
            assert read_count(match[1]) == number


def test_months_and_weekdays_are_read_in_their_order() -> None:
    assert [read_month(month) for month in MONTHS if re.fullmatch(MONTH, month)] == list(range(1, 13))
    assert [read_weekday(day) for day in WEEKDAYS if re.fullmatch(WEEKDAY, day)] == list(range(7))
    assert [read_weekday(day) for day in "一二三四五六日天" if re.fullmatch(HAN_WEEKDAY, day)] == [*range(7), 6]
