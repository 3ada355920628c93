import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import repeat
from typing import Any

import pytest

from everthread.common.retry import Retries, doubling_delays, parse_retry_after


def slept(delays_s: Iterable[float], requested_s: float = 0.0, **limits: Any) -> list[float]:
    """Return the delays of a call that always fails."""
    found: list[float] = []
    retries = Retries(delays_s, **limits, sleep=found.append)
    while retries.wait(requested_s):
        pass
    return found


def test_each_delay_is_slept_once() -> None:
    assert slept((0.1, 0.5, 2.0)) == [0.1, 0.5, 2.0]


def test_no_delays_mean_no_retry() -> None:
    assert slept(()) == []


def test_doubling_delays_double() -> None:
    assert list(doubling_delays(4)) == [0.5, 1.0, 2.0, 4.0]
    assert list(doubling_delays(2, first_s=0.1)) == [0.1, 0.2]
    assert list(doubling_delays(0)) == []


def test_all_delays_together_stay_within_their_limit() -> None:
    assert slept(doubling_delays(9), max_total_delay_s=3.5) == [0.5, 1.0, 2.0]
    assert slept(doubling_delays(9), max_total_delay_s=3.4) == [0.5, 1.0]


def test_a_delay_that_would_end_after_the_deadline_is_not_begun() -> None:
    assert slept(doubling_delays(9), deadline=time.monotonic() + 5) == [0.5, 1.0, 2.0, 4.0]
    assert slept(repeat(0.1), deadline=time.monotonic() + 0.05) == []


def test_a_delay_is_at_least_as_long_as_the_server_asks_for() -> None:
    assert slept(doubling_delays(3), 1.5) == [1.5, 1.5, 2.0]
    assert slept(doubling_delays(2), -1.0) == [0.5, 1.0]
    assert slept(doubling_delays(99), 8.0, max_total_delay_s=20.0) == [8.0, 8.0]


def test_jitter_shortens_delays_by_no_more_than_its_share() -> None:
    delays = [tuple(doubling_delays(2, jitter=0.25)) for _ in range(200)]
    assert all(0.375 <= first <= 0.5 and 0.75 <= second <= 1.0 for first, second in delays)
    assert len({first for first, _ in delays}) > 100


@pytest.mark.parametrize(("header", "seconds"), [("3", 3), ("2.5", 2.5), (" 7 ", 7), ("", 0), ("soon", 0), ("-1", 0)])
def test_retry_after_is_parsed_as_seconds_and_nonsense_as_zero(header: str, seconds: float) -> None:
    assert parse_retry_after(header) == seconds


def test_retry_after_is_parsed_as_a_date() -> None:
    assert 8 < parse_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)) <= 10


@pytest.mark.parametrize("header", ["soon", "", "1 Jan 99999999999999999999999 00:00:00 +0000", "-", "١٢ Jan"])
def test_a_retry_after_that_is_neither_seconds_nor_a_date_is_no_delay(header: str) -> None:
    assert parse_retry_after(header) == 0.0
