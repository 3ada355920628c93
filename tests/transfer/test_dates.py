from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.transfer.dates import looks_like_date, parse_clock, parse_moment

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
seconds = st.datetimes(min_value=datetime(1000, 1, 1)).map(lambda t: t.replace(microsecond=0))


def twelve(t: datetime) -> str:
    return f"{t.hour % 12 or 12}:{t.minute:02} {'pm' if t.hour >= 12 else 'am'}"


@given(seconds)
def test_times_are_parsed_in_every_documented_form(t: datetime) -> None:
    month, weekday = MONTHS[t.month - 1], WEEKDAYS[t.weekday()]
    to_the_minute = t.replace(second=0, tzinfo=UTC)
    assert parse_moment(t.isoformat()) == t.replace(tzinfo=UTC)
    assert parse_moment(f"{t.day:02}.{t.month:02}.{t.year}, {t:%H:%M:%S}") == t.replace(tzinfo=UTC)
    assert parse_moment(f"{t.year}/{t.month:02}/{t.day:02} ({weekday[:3]}) {t:%H:%M}") == to_the_minute
    assert parse_moment(f"{twelve(t)} on {t.day} {month}, {t.year}") == to_the_minute
    assert parse_moment(f"{weekday}, {t.day} {month} {t.year} at {t:%H:%M}") == to_the_minute
    assert parse_moment(f"{month[:3]} {t.day}, {t.year}") == to_the_minute.replace(hour=0, minute=0)


def test_a_time_without_an_offset_takes_the_given_one() -> None:
    east = timezone(timedelta(hours=8))
    assert parse_moment("2024-05-01 10:22", east).isoformat() == "2024-05-01T10:22:00+08:00"
    assert parse_moment("2024-05-01T10:22Z", east) == datetime(2024, 5, 1, 10, 22, tzinfo=UTC)


def test_an_offset_in_the_text_is_kept() -> None:
    assert parse_moment("2024-05-01T10:22:00+05:30").utcoffset() == timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "05/06/2024", "31.02.2024", "13:00 pm on 8 May, 2023", "8 May", "25:00 2024-05-01",
     "on 2024-05-01 we met", "2024-05-01 10:22 and 11:30", "12024-05-01", "8 Mayor 2023"],
)  # fmt: skip
def test_invalid_and_ambiguous_dates_are_rejected(text: str) -> None:
    with pytest.raises(ValueError):
        parse_moment(text)


def test_noon_and_midnight_are_distinguished() -> None:
    day = datetime(2024, 5, 1)
    assert parse_clock("12:05 am", day).hour == 0
    assert parse_clock("12:05 PM", day).hour == 12
    assert parse_clock("00:05", day) == datetime(2024, 5, 1, 0, 5)


@pytest.mark.parametrize("text", ["noon", "24:30", "10:22 2024", "0:10 pm"])
def test_an_invalid_time_of_day_is_rejected(text: str) -> None:
    with pytest.raises(ValueError):
        parse_clock(text, datetime(2024, 5, 1))


def test_a_long_message_is_no_date_and_is_not_searched_for_one() -> None:
    message = "word " * 2_000_000
    began = time.process_time()
    for text in (message, f"8 May 2023 {message}", " " * 3_000_000):
        assert not looks_like_date(text)
        with pytest.raises(ValueError, match="more than a date"):
            parse_moment(text)
    assert time.process_time() - began < 1
