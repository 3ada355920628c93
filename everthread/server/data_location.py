"""Finds where a server has its own data: in the database of the banks, or in a file."""

from __future__ import annotations

from everthread.server.server_db import Location, get_path
from everthread.stores.base import Store
from everthread.stores.postgres import dsn


def find_location(store: Store) -> Location:
    """Return where a server of these banks has its own data. Opens no connection."""
    if store.location.startswith(dsn.SCHEMES):
        from everthread.server.server_tables import ServerTables
        from everthread.stores.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            return ServerTables(store.database.url, get_path(store))
    return get_path(store)
