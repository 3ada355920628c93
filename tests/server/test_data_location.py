from __future__ import annotations

from contextlib import closing
from pathlib import Path

from hardship.places import write_places

from everthread import factory
from everthread.server.data_location import find_location
from everthread.server.keys import KeyStore
from everthread.server.server_db import FILE_NAME
from everthread.stores.postgres.store import PostgresStore


def test_a_folder_has_the_servers_own_data_in_a_file(tmp_path: Path) -> None:
    with closing(factory.open_store(tmp_path)) as store:
        assert find_location(store) == tmp_path / FILE_NAME


def test_a_store_of_several_places_has_them_in_the_first_one(tmp_path: Path, database: str) -> None:
    file = write_places(tmp_path, east=database, north="north")
    with closing(factory.open_store(file)) as store, closing(KeyStore(find_location(store))) as keys:
        keys.create("phone")
    with closing(PostgresStore(database)) as store, closing(KeyStore(find_location(store))) as keys:
        assert [key.name for key in keys.list_keys()] == ["phone"]
    folder_first = write_places(tmp_path, north="north", east=database)
    with closing(factory.open_store(folder_first)) as store:
        assert find_location(store) == tmp_path / "north" / FILE_NAME
