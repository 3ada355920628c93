"""Fixtures for tests of both stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Open the same store, each time as another process would."""
    made: list[Store] = []

    def open_again() -> Store:
        made.append(SQLiteStore(tmp_path) if request.param == "sqlite" else PostgresStore(database))
        return made[-1]

    database = "" if request.param == "sqlite" else request.getfixturevalue("database")
    yield open_again
    for each in made:
        each.close()
