import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from everthread.common.retry import Retries, parse_retry_after


def delays(requested_s: float = 0.0, **limits: Any) -> list[float]:
    """The delays of a call that fails for ever."""
    slept: list[float] = []
    retries = Retries(**limits, sleep=slept.append)
    while retries.wait(requested_s):
        pass
    return slept


def test_each_delay_doubles_until_no_retry_is_left() -> None:
    assert delays(most=4) == [0.5, 1.0, 2.0, 4.0]


def test_no_retries_mean_no_delay() -> None:
    assert delays(most=0) == []


def test_first_delay_and_growth_can_be_chosen() -> None:
    assert delays(most=3, first_delay_s=0.1, growth=1.0) == [0.1, 0.1, 0.1]


def test_all_delays_together_stay_within_their_limit() -> None:
    assert delays(max_total_delay_s=3.5) == [0.5, 1.0, 2.0]
    assert delays(max_total_delay_s=3.4) == [0.5, 1.0]


def test_a_delay_that_would_end_after_the_deadline_is_not_begun() -> None:
    assert delays(most=9, deadline=time.monotonic() + 5) == [0.5, 1.0, 2.0, 4.0]
    assert delays(deadline=time.monotonic() + 0.1) == []


def test_a_requested_delay_replaces_the_own_one() -> None:
    assert delays(3.0, most=2) == [3.0, 3.0]
    assert delays(-1.0, most=2) == [0.5, 1.0]
    assert delays(8.0, max_total_delay_s=20.0) == [8.0, 8.0]


def test_jitter_shortens_delays_by_no_more_than_its_share() -> None:
    found = [delays(most=2, jitter=0.25) for _ in range(200)]
    assert all(0.375 <= first <= 0.5 and 0.75 <= second <= 1.0 for first, second in found)
    assert len({first for first, _ in found}) > 100


@pytest.mark.parametrize(("header", "seconds"), [("3", 3), ("2.5", 2.5), (" 7 ", 7), ("", 0), ("soon", 0), ("-1", 0)])
def test_retry_after_is_read_as_seconds_and_nonsense_as_none(header: str, seconds: float) -> None:
    assert parse_retry_after(header) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    assert 8 < parse_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)) <= 10
