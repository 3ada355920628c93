from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.common.timestamps import from_micros, to_micros, utc_offset_s
from everthread.errors import BadLine, BadQuery

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=ZONES))
def test_a_time_survives_conversion_with_its_offset(at: datetime) -> None:
    back = from_micros(to_micros(at), utc_offset_s(at))
    assert back == at
    assert back.utcoffset() == at.utcoffset()
    assert back.replace(tzinfo=None) == at.replace(tzinfo=None)


def test_the_epoch_is_zero_and_a_microsecond_is_one() -> None:
    assert to_micros(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert to_micros(datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)) == 1
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


def test_an_instant_has_the_same_number_in_every_zone() -> None:
    india = datetime(2024, 5, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert to_micros(india) == to_micros(datetime(2024, 5, 1, tzinfo=UTC))


def test_a_time_without_a_zone_is_rejected() -> None:
    with pytest.raises(BadLine, match=r"said_at 2024-05-01T00:00:00 has no time zone; set one"):
        to_micros(datetime(2024, 5, 1))


@pytest.mark.parametrize("at", ["2024-05-01", 1714521600, None])
def test_a_value_that_is_not_a_datetime_is_rejected(at: object) -> None:
    with pytest.raises(BadLine, match=r"must be a datetime, got .*; parse text with datetime\.fromisoformat"):
        to_micros(at)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, 3, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 22, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_time_beyond_the_calendar_in_utc_is_rejected(at: datetime) -> None:
    with pytest.raises(BadLine, match="is outside the years 1 to 9999 in UTC; use a time within them"):
        to_micros(at)


def test_the_caller_chooses_the_error_class_and_the_name() -> None:
    with pytest.raises(
        BadQuery, match=r"as_of 2024-05-01T00:00:00 has no time zone; set one, for example with \.replace"
    ):
        to_micros(datetime(2024, 5, 1), "as_of", BadQuery)
