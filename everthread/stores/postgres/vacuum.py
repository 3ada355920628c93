"""Freeing what removed rows leave behind in a Postgres database. It knows tables, and no bank.

A row that is deleted can't be read by SQL any more, but its bytes stay in the pages of its table and indexes: VACUUM
lets Postgres overwrite them, sooner or later, and only writing the tables anew makes sure that they are gone. Copies in
the write-ahead log, in backups and in the server's own log are out of reach from here.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Sequence

from psycopg import errors, sql
from psycopg.errors import Diagnostic

from everthread.common.fork_safety import Lock
from everthread.errors import EverthreadError
from everthread.stores.postgres.connections import Connection, Database
from everthread.stores.postgres.schema import TABLES, distributed

log = logging.getLogger("everthread")

PAUSE = 60.0  # seconds between two vacuums; each reads all indexes of a table, whosever rows they hold
CATALOGS = ("pg_catalog.pg_statistic", "pg_catalog.pg_index")  # ids of banks stand in statistics and conditions


class Vacuum:
    """Frees the pages of what a process has forgotten: at once, but not again within PAUSE seconds. What is due then
    comes with the next forgetting after them, or when the store is closed; what is due when a process just ends is left
    to Postgres's own vacuuming. Safe from many threads."""

    def __init__(self, server: Database, pause: float = PAUSE) -> None:
        self._server, self._pause = server, pause
        self._due: dict[str, bool] = {}  # table -> whether a whole bank has gone from it
        self._next = 0.0
        self._lock = Lock()

    def after(self, tables: Collection[str], bank: bool) -> None:
        """Rows of these tables were forgotten; those of a whole bank, or of some lines."""
        with self._lock:
            self._due |= {table: bank or self._due.get(table, False) for table in tables}
            waiting = time.monotonic() < self._next
        if not waiting:
            self.now()

    def now(self) -> None:
        """Free what is due. What can't be freed is told in a warning."""
        with self._lock:
            if not self._due:
                return
            due, self._due, self._next = self._due, {}, time.monotonic() + self._pause
        try:
            with self._server.dedicated() as db:
                left = _free(db, due)
        except EverthreadError as error:
            left = [str(error)]
        if left:
            log.warning(
                "what was forgotten is gone from the tables, but its pages are not all freed; Postgres does that "
                "later, or: everthread db scrub URL (%s)",
                "; ".join(left),
            )


def _free(db: Connection, due: dict[str, bool]) -> list[str]:
    """Vacuum tables; what could not be freed, in words. Where a bank has gone, the statistics are made anew, for they
    may hold its id; those of a table that is now empty Postgres keeps, and they must be cleared (it can since 18)."""
    left = _told(db)
    for table, bank in due.items():
        analyse = ", ANALYZE) everthread.{} (bank_id)" if bank else ") everthread.{}"
        db.execute(f"VACUUM (INDEX_CLEANUP ON, SKIP_LOCKED, VERBOSE{analyse.format(table)}")
    return left + _clear(db, [table for table, bank in due.items() if bank])


def _clear(db: Connection, tables: Sequence[str]) -> list[str]:
    """Clear the statistics of those tables that are empty, and of their empty shards; what went wrong."""
    if not tables or db.info.server_version < 180_000:
        return []
    return _everywhere(
        db,
        f"""SELECT pg_clear_attribute_stats('everthread', relname::text, 'bank_id', false) FROM pg_class
            WHERE relnamespace = 'everthread'::regnamespace AND relkind = 'r' AND reltuples = 0
            AND relname ~ '^({"|".join(tables)})(_[0-9]+)?$'""",
    )


def _everywhere(db: Connection, statement: str) -> list[str]:
    """Do a statement on this server, and where Citus has spread the tables on every server; what went wrong."""
    if not distributed(db):
        db.execute(statement.encode())
        return []
    rows = db.execute("SELECT nodeid, result FROM run_command_on_all_nodes(%s) WHERE NOT success", (statement,))
    return [f"server {node} of the cluster: {said}" for node, said in rows]


def scrub(server: Database) -> list[str]:
    """Write all tables and their indexes anew, so that nothing forgotten is left in the database's files. Everyone
    waits for it meanwhile. What stood in its way, in words; an empty list when nothing did."""
    with server.dedicated() as db:
        left = _told(db)
        ours = "SELECT relname FROM pg_class WHERE relnamespace = 'everthread'::regnamespace AND relkind = 'r'"
        for (table,) in db.execute(ours).fetchall():
            name = sql.Identifier("everthread", table)
            db.execute(sql.SQL("VACUUM (FULL, ANALYZE, VERBOSE) {}").format(name))
        left += _clear(db, TABLES)
        for catalog in CATALOGS:
            left += _everywhere(db, f"VACUUM (FULL, VERBOSE) {catalog}")
        try:
            left += _everywhere(db, "CHECKPOINT")
        except errors.InsufficientPrivilege:
            left.append("CHECKPOINT wants a member of pg_checkpoint; the server's own next one will do")
    return left


_DEAD = re.compile(r"\b([1-9]\d*) (?:are dead but not yet removable|dead row versions cannot be removed yet)")
_TABLE = re.compile(r'"(?:[^".]*+\.)*+([^".]+)"')


def _told(db: Connection) -> list[str]:
    """What Postgres will tell of rows and tables that it passes over. (Of rows only in English, as it counts them in a
    text for people.)"""
    told: list[str] = []

    def hear(notice: Diagnostic) -> None:
        said = f"{notice.message_primary} {notice.message_detail or ''}"
        dead, table = _DEAD.search(said), _TABLE.search(said)
        if notice.severity_nonlocalized == "WARNING":
            told.append(said.strip())
        elif dead and table:
            told.append(f"{dead[1]} rows of {table[1]} may still be read by a transaction that is open")

    db.add_notice_handler(hear)
    return told
