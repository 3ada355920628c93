"""Random secrets that all processes of a server share, in a row of a table of their own."""

from __future__ import annotations

import secrets
from pathlib import Path

from everthread.server.server_db import Location, open_database

SECRET_BYTES = 32


def load_secret(location: Location, table: str) -> bytes:
    """Return the secret in a table; create it if it is missing.

    Raises:
        StoreUnavailable: the table can't be written.
    """
    schema = f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL)"
    database, query = open_database(location, schema), f"SELECT value FROM {table}"
    try:
        with database.read() as reading:
            row = reading.execute(query).fetchone() if reading else None
        if row is None:
            with database.write() as db:
                new = secrets.token_bytes(SECRET_BYTES)
                db.execute(f"INSERT INTO {table} VALUES (1, ?) ON CONFLICT DO NOTHING", (new,))
                row = db.execute(query).fetchone()
        return bytes(row[0])
    finally:
        if isinstance(location, Path):  # otherwise others use it, too
            database.close()
