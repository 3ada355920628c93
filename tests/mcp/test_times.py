from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread.errors import BadQuery
from everthread.mcp.times import parse_end, parse_start, parse_time


def test_a_time_with_an_offset_keeps_it() -> None:
    assert parse_time("since", " 2024-05-31T18:30+02:00 ").isoformat() == "2024-05-31T18:30:00+02:00"


def test_a_time_without_an_offset_is_in_the_zone_of_this_machine() -> None:
    assert parse_time("since", "2024-05-31T18:30") == datetime(2024, 5, 31, 18, 30).astimezone()


def test_the_end_of_a_span_includes_its_day() -> None:
    start, end = parse_start("since", "2024-05-31"), parse_end("until", "2024-05-31")
    assert start is not None
    assert end is not None
    assert end - start == timedelta(days=1)
    assert parse_end("until", "2024-05-31T12:00Z") == datetime(2024, 5, 31, 12, tzinfo=UTC)
    assert parse_end("until", "9999-12-31") is not None
    assert parse_start("since", None) is parse_end("until", None) is None


@pytest.mark.parametrize("text", ["", "May", "2024-13-01", "yesterday", "0000-00-00"])
def test_a_text_that_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadQuery, match=r"invalid until: got .* expected a date like 2024-05-31"):
        parse_end("until", text)
