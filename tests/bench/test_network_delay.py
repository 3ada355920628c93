"""The measurement of recall over a slow network."""

from __future__ import annotations

from contextlib import closing

import pytest

from everthread.bench.network_delay import measure_delay
from everthread.errors import BadInput
from everthread.stores.postgres.store import PostgresStore


def test_a_delay_is_added_to_each_round_trip(database: str) -> None:
    result = measure_delay(database, 40, 20, "hash")
    assert result.delayed.p50 > result.proxied.p50 + 20
    assert "a round trip of 20 ms costs" in result.text()
    assert result.json()["lines"] == 40
    with closing(PostgresStore(database)) as store:
        assert store.banks() == []


def test_a_delay_must_be_positive() -> None:
    with pytest.raises(BadInput, match="must be positive, got 40 and 0"):
        measure_delay("postgresql://nowhere/x", 40, 0)
