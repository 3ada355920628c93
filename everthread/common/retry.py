"""Retries a call: the delays between attempts, and the limits on them."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime


class Retries:
    """Waits before each retry of one call, until the retries or the time are used up.

    retries = Retries(doubling_delays(3), max_total_delay_s=20.0)
    while True:
        try:
            return attempt()
        except Overloaded as error:
            if not retries.wait(error.retry_after):
                raise
    """

    def __init__(
        self,
        delays_s: Iterable[float],
        *,
        max_total_delay_s: float = math.inf,
        deadline: float = math.inf,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set the delays and their limits.

        Args:
            delays_s: seconds before each retry; there are as many retries as delays.
            max_total_delay_s: seconds that all delays may take together.
            deadline: the time.monotonic() after which no retry begins.
            sleep: called with the seconds of each delay.
        """
        self._delays_s = iter(delays_s)
        self._remaining_s = max_total_delay_s
        self._deadline = deadline
        self._sleep = sleep

    def wait(self, requested_s: float = 0.0) -> bool:
        """Sleep until the next attempt.

        Args:
            requested_s: seconds that the server asked for; the delay is at least as long.

        Returns:
            False, at once, if no retry is left or the delay would exceed a limit.
        """
        if (delay_s := next(self._delays_s, None)) is None:
            return False
        delay_s = max(delay_s, requested_s)
        if delay_s > self._remaining_s or time.monotonic() + delay_s > self._deadline:
            return False
        self._remaining_s -= delay_s
        self._sleep(delay_s)
        return True


def doubling_delays(retries: int, first_s: float = 0.5, jitter: float = 0.0) -> Iterator[float]:
    """Yield one delay per retry, each twice the one before.

    Args:
        retries: the number of retries.
        first_s: the first delay in seconds.
        jitter: the maximum fraction by which a delay is shortened at random, so that clients don't all retry at once.
    """
    for number in range(retries):
        yield first_s * 2.0**number * random.uniform(1.0 - jitter, 1.0)


def parse_retry_after(header: str) -> float:
    """Return the delay in seconds of a Retry-After header, given as seconds or as a date; 0 if it is neither."""
    try:
        return float(header) if header.strip().replace(".", "", 1).isdigit() else _seconds_until(header)
    except (ValueError, OverflowError):  # OverflowError for a year of many digits
        return 0.0


def _seconds_until(date: str) -> float:
    retry_at = parsedate_to_datetime(date)
    return (retry_at - datetime.now(retry_at.tzinfo)).total_seconds()
