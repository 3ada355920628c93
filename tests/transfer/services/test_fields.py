from __future__ import annotations

from datetime import UTC, datetime
from math import inf, nan

import pytest

from everthread.transfer.services.fields import parse_epoch

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("value", [1714564800, 1714564800.0, "1714564800", "1714564800.0"])
def test_seconds_since_1970_are_a_time(value: object) -> None:
    assert parse_epoch(value) == NOON


@pytest.mark.parametrize("value", [1714564800000, "1714564800000"])
def test_milliseconds_since_1970_are_a_time(value: object) -> None:
    assert parse_epoch(value, 1000) == NOON


@pytest.mark.parametrize(
    "value", [None, True, "", "noon", 0, -1, 10**30, 10**400, "9" * 5000, 1e300, inf, nan, "nan", []]
)
def test_other_values_are_no_time(value: object) -> None:
    assert parse_epoch(value) is None
