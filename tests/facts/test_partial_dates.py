"""Tests of years, months and days as moments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from everthread.errors import BadInput
from everthread.facts.partial_dates import is_moment, read_moment


def test_a_moment_is_a_year_a_month_or_a_day_on_the_clock_of_the_speaker() -> None:
    zone = timezone(timedelta(hours=9))
    assert read_moment("2019-05", zone) == datetime(2019, 5, 1, tzinfo=zone)


@pytest.mark.parametrize("moment", ["", "May", "2019-13", "2019-02-30", "2019-1-1-1"])
def test_anything_else_is_no_moment(moment: str) -> None:
    assert not is_moment(moment)
    with pytest.raises(BadInput, match="expected a year, a month or a day"):
        read_moment(moment, UTC)
