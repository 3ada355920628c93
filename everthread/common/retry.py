"""Retrying a call: the delays between its attempts, and the limits after which it is given up."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime


class Retries:
    """The retries that one call has left.

    retries = Retries(3, max_total_delay_s=20.0)
    while True:
        try:
            return attempt()
        except Overloaded as error:
            if not retries.wait(error.retry_after):
                raise
    """

    def __init__(
        self,
        most: float = math.inf,
        *,
        first_delay_s: float = 0.5,
        growth: float = 2.0,
        jitter: float = 0.0,
        max_total_delay_s: float = math.inf,
        deadline: float = math.inf,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set the limits.

        Args:
            most: the number of retries.
            first_delay_s: seconds before the first retry.
            growth: the factor by which each further delay is longer.
            jitter: the share by which a delay may be shortened at random, so that clients don't return all at once.
            max_total_delay_s: seconds that all delays may take together.
            deadline: the time.monotonic() after which no retry begins.
            sleep: called with the seconds of each delay.
        """
        self._left = most
        self._delay_s = first_delay_s
        self._growth = growth
        self._jitter = jitter
        self._left_s = max_total_delay_s
        self._deadline = deadline
        self._sleep = sleep

    def wait(self, requested_s: float = 0.0) -> bool:
        """Sleep until the next attempt.

        Args:
            requested_s: seconds that the server asked for, which replace the delay; 0 if it asked for none.

        Returns:
            False, at once, if no retry is left or the delay would exceed a limit.
        """
        delay_s = requested_s if requested_s > 0 else self._delay_s * random.uniform(1.0 - self._jitter, 1.0)
        if self._left < 1 or delay_s > self._left_s or time.monotonic() + delay_s > self._deadline:
            return False
        self._left -= 1
        self._left_s -= delay_s
        self._delay_s *= self._growth
        self._sleep(delay_s)
        return True


def parse_retry_after(header: str) -> float:
    """Return the seconds that a Retry-After header asks for, given as seconds or a date; 0 if it is neither."""
    try:
        return float(header) if header.strip().replace(".", "", 1).isdigit() else _seconds_until(header)
    except ValueError:
        return 0.0


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment - datetime.now(moment.tzinfo)).total_seconds()
