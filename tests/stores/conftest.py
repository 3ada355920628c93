"""Fixtures for tests that every store must pass: a folder, a database, and places of both kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import DATABASES
from hardship.places import write_places

from everthread import factory
from everthread.stores.base import Store


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Iterator[Path]:
    """Yield a file of places: two folders and a database."""
    from hardship import postgres

    with postgres.database(postgres_server) as east:
        yield write_places(tmp_path_factory.mktemp("places"), north="north", south="south", east=east)


@pytest.fixture(scope="module", params=["sqlite", *DATABASES, "placed"])
def any_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Yield a store of each kind in turn, which the tests of a module share."""
    fixture = {**DATABASES, "placed": "places"}.get(request.param)
    place = tmp_path_factory.mktemp("banks") if fixture is None else request.getfixturevalue(fixture)
    made = factory.open_store(place)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Open the same store, each time as another process would."""
    made: list[Store] = []

    def open_again() -> Store:
        made.append(factory.open_store(place))
        return made[-1]

    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("database")
    yield open_again
    for each in made:
        each.close()
