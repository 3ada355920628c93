"""The server's own data in the database of the banks, for all machines that serve it.

They are in a schema of their own with numbered migrations, like the tables of the banks (`stores.postgres.schema`), and
with the same columns as in the file. They aren't distributed by Citus: a server needs the URL of the coordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psycopg import errors, sql

from everthread.common.lazy import Lazy
from everthread.server.server_db import Busy
from everthread.server.server_file_copy import copy_file
from everthread.stores.postgres.connections import TIMEOUT_S, Connection, Cursor, Database, set_local
from everthread.stores.postgres.schema import compare_version, ensure_tables, list_secured_roles

log = logging.getLogger("everthread.server")

SCHEMA = "everthread_server"
MAX_CONNECTIONS = 16  # of a process: 8 for turns of the proxy, which hold a bank's lock while they store, and 8 others

LOCK_IDLE_TIMEOUT = "600s"  # of the transaction of a lock, which waits for what is done meanwhile

_FIRST = """
CREATE TABLE key (
    hash bytea PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, banks text NOT NULL, verbs text NOT NULL,
    made_on text NOT NULL, used_on text);
CREATE TABLE once (
    name text PRIMARY KEY, request text NOT NULL, begun_at double precision NOT NULL, outcome text);
CREATE INDEX once_begun ON once (begun_at);

CREATE TABLE account (
    id text PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, password text, administrator int NOT NULL,
    banks text NOT NULL, locked int NOT NULL, made_on text NOT NULL, signed_in_on text);
CREATE TABLE identity (
    issuer text NOT NULL, subject text NOT NULL, account text NOT NULL, PRIMARY KEY (issuer, subject));
CREATE TABLE login_session (
    hash bytea PRIMARY KEY, account text NOT NULL, expires_at double precision NOT NULL);
CREATE TABLE pending_sign_in (
    hash bytea PRIMARY KEY, state text NOT NULL, nonce text NOT NULL, verifier text NOT NULL,
    expires_at double precision NOT NULL);
CREATE TABLE failed_sign_in (
    subject bytea PRIMARY KEY, failures int NOT NULL, last_at double precision NOT NULL);

CREATE TABLE sms_answered (message text PRIMARY KEY, parts text, at double precision NOT NULL);
CREATE TABLE sms_stopped (person text PRIMARY KEY, at double precision NOT NULL);
CREATE TABLE telegram_answered (message text PRIMARY KEY, parts text, at double precision NOT NULL);
CREATE TABLE telegram_stopped (person text PRIMARY KEY, at double precision NOT NULL);
CREATE TABLE telegram_invitations (code text PRIMARY KEY, at double precision NOT NULL);
CREATE TABLE telegram_chats (chat bigint PRIMARY KEY, pending bigint);
CREATE TABLE telegram_moved (chat bigint PRIMARY KEY, home bigint NOT NULL);
CREATE TABLE telegram_topics (chat bigint PRIMARY KEY, topic bigint NOT NULL);
CREATE TABLE telegram_sent (
    chat bigint, message bigint, line bigint, kind text NOT NULL, at double precision NOT NULL,
    PRIMARY KEY (chat, message));

CREATE TABLE mcp_secret (id int PRIMARY KEY CHECK (id = 1), value bytea NOT NULL);
CREATE TABLE sms_secret (id int PRIMARY KEY CHECK (id = 1), value bytea NOT NULL);

-- Processes that serve, and the banks that each holds (server.workers.bank_claims); bank is the hash of the bank's id.
CREATE TABLE server (id text PRIMARY KEY, seen_at timestamptz NOT NULL);
CREATE TABLE claim (bank bytea PRIMARY KEY, server text NOT NULL REFERENCES server ON DELETE CASCADE);
CREATE INDEX claim_by_server ON claim (server);

-- Files of earlier servers whose data were copied; a row without a file means that the first server had none.
CREATE TABLE adoption (number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, file text, at timestamptz NOT NULL);
"""

MIGRATIONS = (_FIRST,)
VERSION = len(MIGRATIONS)


class ServerTables:
    """A pool of connections to the tables, which are created at the first use. Thread-safe."""

    def __init__(self, url: str, file: Path | None = None, timeout_s: float = TIMEOUT_S) -> None:
        """Open nothing yet.

        Args:
            url: of the database.
            file: where the server had its own data before they were in the database. They are copied once. None: they
                aren't copied.
            timeout_s: as for `Database`.
        """
        self.database = Database(url, MAX_CONNECTIONS, timeout_s, (VERSION_QUERY, check_version))
        self._file = file
        self._ready = Lazy(self._prepare)

    @contextmanager
    def read(self) -> Iterator[_Statements]:
        """Yield a transaction that sees one snapshot. Raises StoreUnavailable."""
        self._ready.get(self.database.timeout_s)
        with self.database.read_transaction() as db:
            db.execute(_SET_SCHEMA)
            yield _Statements(db)

    @contextmanager
    def write(self, subject: str = "") -> Iterator[_Statements]:
        """Yield a transaction after all others with the same subject, by which a row that is missing is locked, too.

        Raises StoreUnavailable.
        """
        self._ready.get(self.database.timeout_s)
        with self.database.write_transaction(None) as db:
            db.execute(f"{_SET_SCHEMA}, pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"{SCHEMA} {subject}",))
            yield _Statements(db)

    @contextmanager
    def lock(self, subject: str, timeout_s: float) -> Iterator[None]:
        """Hold a lock, which others with the same subject get in the order in which they have begun to wait.

        Raises:
            Busy: others hold it for longer than `timeout_s` seconds.
            StoreUnavailable: the database can't be used.
        """
        self._ready.get(self.database.timeout_s)
        with self.database.write_transaction(None) as db:
            set_local(db, "idle_in_transaction_session_timeout", LOCK_IDLE_TIMEOUT)
            set_local(db, "lock_timeout", f"{max(round(1000 * timeout_s), 1)}ms")
            try:
                db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (f"{SCHEMA} {subject}",))
            except errors.LockNotAvailable:
                raise Busy from None
            yield

    def erase(self) -> None:
        """Do nothing: Postgres overwrites the bytes of deleted rows when it uses their space again."""

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def _prepare(self) -> None:
        """Create the tables if they are missing, and copy what an earlier server left in its file."""
        ensure_tables(self.database)  # the connections need the extension
        with self.database.dedicated_connection() as db:
            applied = version(db)
            if applied:
                check_version(self.database, applied)
        if not applied:
            migrate(self.database)
        if self._file is not None:
            with self.database.dedicated_connection() as db:
                is_adopted = db.execute(f"SELECT 1 FROM {SCHEMA}.adoption LIMIT 1").fetchone()
            if not is_adopted:
                adopt(self.database, self._file, once=True)


_SET_SCHEMA = f"SELECT set_config('search_path', '{SCHEMA}', true)"


class _Statements:
    """Executes statements with `?` for each value, as in SQLite."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor:
        return self._db.execute(_translate(statement), values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        self._db.cursor().executemany(_translate(statement), rows)


def _translate(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


# ------------------------------------------------------------------- the tables


def version(db: Connection) -> int:
    """Return the number of the last applied migration; 0 if there are no tables."""
    row = db.execute(f"SELECT to_regclass('{SCHEMA}.migration') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return 0
    row = db.execute(VERSION_QUERY).fetchone()
    return int(row[0] or 0) if row else 0


VERSION_QUERY = f"SELECT max(number) FROM {SCHEMA}.migration"


def check_version(database: Database, applied: int) -> None:
    """Check that the tables are of this version. Raises the same errors as `compare_version`."""
    compare_version(database, applied, VERSION, "the server's tables")


def migrate(database: Database) -> int:
    """Create or migrate the tables; return the number of applied migrations. Roles that are bound to one bank at a time
    may read and write them.

    Raises:
        StoreUnavailable: the user has no right to create tables.
        BankTooNew: the tables are of a later version.
    """
    with database.dedicated_connection() as db, db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(hashtext('everthread.schema'))")  # one process at a time
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {SCHEMA}.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL)"
        )
        applied = version(db)
        if applied > VERSION:
            check_version(database, applied)
        db.execute(_SET_SCHEMA)
        for number, statements in enumerate(MIGRATIONS[applied:], applied + 1):
            db.execute(statements.encode())
            db.execute("INSERT INTO migration VALUES (%s, now())", (number,))
        if applied < VERSION:
            for role in list_secured_roles(db):
                _grant(db, role)
    return VERSION - applied


def secure(database: Database, role: str) -> None:
    """Let a role that is bound to one bank at a time read and write the tables."""
    with database.dedicated_connection() as db, db.transaction():
        _grant(db, role)


def _grant(db: Connection, role: str) -> None:
    name, schema = sql.Identifier(role), sql.Identifier(SCHEMA)
    db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, name))
    db.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO {}").format(schema, name))


def adopt(database: Database, file: Path, *, once: bool = False) -> int:
    """Copy the data of a server that had them in a file; what is in the tables already stays.

    Args:
        database: with the tables.
        file: server.sqlite. The key of telephone numbers is next to it.
        once: whether to copy only if no server has used the tables yet; the file may be missing.

    Returns:
        The number of rows copied.

    Raises:
        NotFound: the file is missing.
        StoreUnavailable: the file can't be read, or the tables can't be written.
    """
    with database.write_transaction(None) as db:
        db.execute(f"{_SET_SCHEMA}, pg_advisory_xact_lock(hashtext('{SCHEMA}.adoption'))")
        if once and db.execute("SELECT 1 FROM adoption LIMIT 1").fetchone():
            return 0
        has_file = not once or file.exists()
        copied = copy_file(file, _Statements(db)) if has_file else 0
        db.execute("INSERT INTO adoption (file, at) VALUES (%s, now())", (str(file) if has_file else None,))
    if copied:
        log.warning("the server's keys, accounts and other data in %s were copied into %s", file, database.display_url)
    return copied
