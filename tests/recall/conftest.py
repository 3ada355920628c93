"""Fixtures for tests of recall."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everthread import factory
from everthread.stores.base import Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Yield an empty store of each kind in turn."""
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("database")
    with closing(factory.open_store(place)) as made:
        yield made
