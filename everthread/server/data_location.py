"""Finds where a server has its own data: in the database of the banks, or in a file.

A store of several places has them in the first one.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from everthread.server.server_db import Location, get_path
from everthread.stores.base import Store
from everthread.stores.placed.store import main_store
from everthread.stores.postgres import dsn
from everthread.stores.sqlite.file_errors import map_errors


def find_location(store: Store, *, adopts: bool = False) -> Location:
    """Return where a server of these banks has its own data. Opens no connection.

    Args:
        store: the banks.
        adopts: whether a database without these data gets them from the file of an earlier server, because the caller
            is one; the file of another command's user may belong to other banks.
    """
    main = main_store(store)
    if main.location.startswith(dsn.SCHEMES):
        from everthread.server.server_tables import ServerTables
        from everthread.stores.postgres.store import PostgresStore

        if isinstance(main, PostgresStore):
            return ServerTables(main.database.url, get_path(store) if adopts else None)
    return get_path(store)


def check_writable(location: Location) -> None:
    """Check that a server's own data can be written, if they are in a file.

    Raises:
        StoreUnavailable: nothing can be written into the folder.
    """
    if isinstance(location, Path):
        with map_errors("", location.parent), TemporaryFile(dir=location.parent):
            pass
