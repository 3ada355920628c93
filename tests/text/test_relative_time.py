from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.text.relative_time import format_relative_time

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
TOKYO = timezone(timedelta(hours=9))
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, TOKYO, timezone(timedelta(hours=-11))]))


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("2026-11-21T14:30:00", "just now"),
        ("2026-11-21T14:29:30", "just now"),
        ("2026-11-21T14:30:30", "just now"),
        ("2026-11-21T14:29:00", "a minute ago"),
        ("2026-11-21T14:10:00", "20 minutes ago"),
        ("2026-11-21T13:30:00", "an hour ago"),
        ("2026-11-21T05:00:00", "9 hours ago"),
        ("2026-11-20T23:00:00", "yesterday"),
        ("2026-11-20T01:00:00", "yesterday"),
        ("2026-11-19T23:59:00", "2 days ago"),
        ("2026-11-14T15:00:00", "7 days ago"),
        ("2026-11-08T12:00:00", "13 days ago"),
        ("2026-11-07T12:00:00", "2 weeks ago"),
        ("2026-10-01T12:00:00", "7 weeks ago"),
        ("2026-09-21T12:00:00", "2 months ago"),
        ("2026-06-03T12:00:00", "5 months ago"),
        ("2025-11-22T12:00:00", "11 months ago"),
        ("2025-11-21T12:00:00", "a year ago"),
        ("2025-05-05T12:00:00", "18 months ago"),
        ("2024-11-21T12:00:00", "2 years ago"),
        ("0001-01-01T00:00:00", "2025 years ago"),
        ("2026-11-21T14:50:00", "in 20 minutes"),
        ("2026-11-21T17:45:00", "in 3 hours"),
        ("2026-11-22T02:00:00", "tomorrow"),
        ("2026-11-24T09:00:00", "in 3 days"),
        ("2026-12-12T09:00:00", "in 3 weeks"),
        ("2027-11-21T09:00:00", "in a year"),
    ],
)
def test_relative_times_are_formatted_in_plain_english(then: str, said: str) -> None:
    assert format_relative_time(datetime.fromisoformat(then).replace(tzinfo=UTC), NOW) == said


def test_days_are_counted_on_the_clock_of_now() -> None:
    then = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
    assert format_relative_time(then, datetime(2026, 11, 21, 23, 0, tzinfo=UTC)) == "3 hours ago"
    assert format_relative_time(then, datetime(2026, 11, 22, 8, 0, tzinfo=TOKYO)) == "3 hours ago"
    assert format_relative_time(datetime(2026, 11, 21, 23, 0, tzinfo=TOKYO), then.replace(hour=23)) == "9 hours ago"
    assert (
        format_relative_time(datetime(2026, 11, 21, 23, 0, tzinfo=UTC), datetime(2026, 11, 23, 1, tzinfo=TOKYO))
        == "yesterday"
    )


def test_minutes_across_midnight_are_not_a_day() -> None:
    midnight = datetime(2026, 11, 22, tzinfo=UTC)
    assert format_relative_time(midnight - timedelta(minutes=10), midnight + timedelta(minutes=10)) == "20 minutes ago"


@given(MOMENTS, MOMENTS)
def test_any_two_times_can_be_compared(then: datetime, now: datetime) -> None:
    said = format_relative_time(then, now)
    if said == "tomorrow" or said.startswith("in "):
        assert then > now
    assert not re.search(r"-|\b0\b", said)


@pytest.mark.parametrize(("then", "now"), [(datetime(2026, 1, 1), NOW), (NOW, datetime(2026, 1, 1))])
def test_a_time_without_a_zone_is_rejected(then: datetime, now: datetime) -> None:
    with pytest.raises(BadInput, match="must have a time zone"):
        format_relative_time(then, now)
