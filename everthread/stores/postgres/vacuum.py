"""Frees the space of deleted rows in a Postgres database.

A deleted row can't be read by SQL any more, but its bytes stay in the pages of its table and indexes. VACUUM allows
Postgres to overwrite them at some time; only rewriting the tables (`scrub`) removes them for certain. Copies in the
write-ahead log, in backups and in the server's own log can't be removed from here.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from psycopg import errors, sql
from psycopg.errors import Diagnostic

from everthread.common.fork_safety import Lock
from everthread.common.retry import Retries, doubling_delays
from everthread.errors import EverthreadError
from everthread.stores.postgres.connections import Connection, Database
from everthread.stores.postgres.schema import distributed_tables

log = logging.getLogger("everthread")

PAUSE_S = 60.0  # seconds between two vacuums; each reads the whole indexes of a table, with the rows of all banks
SCRUB_RETRIES = 4  # of all rewrites together, in 7.5 s; transactions of autovacuum and of applications are short
CATALOGS = ("pg_catalog.pg_statistic", "pg_catalog.pg_index")  # statistics and conditions contain ids of banks


Due = dict[tuple[str, str], bool]  # table and bank of deleted rows -> whether all rows of the bank were deleted


class Vacuum:
    """Frees the pages of forgotten rows: immediately, but at most once per `PAUSE_S`.

    Tables that are due within the pause are vacuumed with the next forgetting after it, or when the store is closed; if
    the process ends before, Postgres's autovacuum does it. Thread-safe.
    """

    def __init__(self, database: Database, pause_s: float = PAUSE_S) -> None:
        self._server, self._pause = database, pause_s
        self._due: Due = {}
        self._next = 0.0
        self._lock = Lock()

    def schedule(self, bank: str, tables: Collection[str], whole_bank: bool) -> None:
        """Schedule tables from which rows were deleted, and vacuum them unless one ran within the pause.

        Args:
            bank: the bank of the rows.
            tables: their names.
            whole_bank: all rows of the bank were deleted.
        """
        with self._lock:
            for table in tables:
                self._due[table, bank] = whole_bank or self._due.get((table, bank), False)
            waiting = time.monotonic() < self._next
        if not waiting:
            self.run()

    def run(self) -> None:
        """Vacuum the scheduled tables; log a warning for pages that can't be freed."""
        with self._lock:
            if not self._due:
                return
            due, self._due, self._next = self._due, {}, time.monotonic() + self._pause
        try:
            with self._server.dedicated_connection() as db:
                left = _vacuum(db, due)
        except EverthreadError as error:
            left = [str(error)]
        if left:
            log.warning(
                "forgotten lines are deleted from the tables, but not all of their pages are freed; Postgres frees "
                "them later, or run: everthread db scrub URL (%s)",
                "; ".join(left),
            )


def _vacuum(db: Connection, due: Due) -> list[str]:
    """Vacuum tables; return descriptions of what could not be freed.

    After the deletion of a bank the statistics are computed again, because they may contain its id. Postgres retains
    the statistics of a table that is now empty; they are cleared (possible since version 18).
    """
    left = _collect_notices(db)
    cleared = list(dict.fromkeys(table for (table, _), whole_bank in due.items() if whole_bank))
    if distributed_tables(db):
        left += _vacuum_shards(db, due)
    else:
        for table in dict.fromkeys(table for table, _ in due):
            db.execute(_vacuum_command(table, table in cleared))
    if cleared:
        names = f"^({'|'.join(cleared)})(_[0-9]+)?$"
        left += _clear_statistics(db, f"schemaname = 'everthread' AND attname = 'bank_id' AND tablename ~ '{names}'")
    return left


def _vacuum_command(table: str, whole_bank: bool) -> str:
    analyse = ", ANALYZE) everthread.{} (bank_id)" if whole_bank else ") everthread.{}"
    return f"VACUUM (INDEX_CLEANUP ON, SKIP_LOCKED, VERBOSE{analyse.format(table)}"


def _vacuum_shards(db: Connection, due: Due) -> list[str]:
    """Vacuum the shards of banks, each on the worker of its bank; return descriptions of errors.

    A VACUUM of the table would be one of all its shards on all workers.
    """
    tables, banks = zip(*due, strict=True)
    shards = db.execute(
        """SELECT nodename, nodeport, due.name || '_' || shardid, bool_or(whole_bank)
           FROM unnest(%s::text[], %s::text[], %s::bool[]) AS due (name, bank, whole_bank)
           JOIN pg_dist_placement
           ON shardid = get_shard_id_for_distribution_column(('everthread.' || due.name)::regclass, due.bank)
           JOIN pg_dist_node USING (groupid) WHERE noderole = 'primary' GROUP BY 1, 2, 3""",
        (list(tables), list(banks), list(due.values())),
    ).fetchall()
    commands = [_vacuum_command(name, whole_bank) for _, _, name, whole_bank in shards]
    rows = db.execute(
        """SELECT node_name, result FROM master_run_on_worker(%s::text[], %s::int[], %s::text[], false)
           WHERE NOT success""",
        ([host for host, *_ in shards], [port for _, port, *_ in shards], commands),
    )
    return [f"server {host} of the cluster: {result}" for host, result in rows]


def _clear_statistics(db: Connection, condition: str) -> list[str]:
    """Clear the statistics of columns of empty tables and empty shards; return descriptions of errors.

    Args:
        db: a connection.
        condition: which columns, as a condition on the rows of `pg_stats`.
    """
    if db.info.server_version < 180_000:
        return []
    return _run_on_all_nodes(
        db,
        f"""SELECT pg_clear_attribute_stats(schemaname::text, tablename::text, attname::text, inherited)
            FROM pg_stats JOIN pg_class ON pg_class.oid = format('%I.%I', schemaname, tablename)::regclass
            WHERE reltuples <= 0 AND {condition}""",
    )


def _run_on_all_nodes(db: Connection, statement: str) -> list[str]:
    """Run a statement on this server, or on every server of a Citus cluster; return descriptions of errors."""
    if not distributed_tables(db):
        db.execute(statement.encode())
        return []
    rows = db.execute("SELECT nodeid, result FROM run_command_on_all_nodes(%s) WHERE NOT success", (statement,))
    return [f"server {node} of the cluster: {result}" for node, result in rows]


def scrub(database: Database, schemas: Sequence[str]) -> list[str]:
    """Rewrite all tables and indexes, so that the database's files contain nothing deleted. Blocks all clients.

    A rewrite that leaves rows because an open transaction may still read them is repeated for some seconds.

    Args:
        database: the database.
        schemas: the schemas of the tables; those that don't exist are left out.

    Returns:
        Descriptions of what could not be removed; empty if everything was.
    """
    with database.dedicated_connection() as db:
        left = _collect_notices(db)
        retries = Retries(doubling_delays(SCRUB_RETRIES))
        tables = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = ANY(%s)"
        for table in db.execute(tables, (list(schemas),)).fetchall():
            _repeat_while_readable(left, retries, partial(_rewrite, db, *table))
        left += _clear_statistics(db, f"schemaname = ANY ('{{{','.join(schemas)}}}')")
        for catalog in CATALOGS:
            _repeat_while_readable(left, retries, partial(_run_on_all_nodes, db, f"VACUUM (FULL, VERBOSE) {catalog}"))
        try:
            left += _run_on_all_nodes(db, "CHECKPOINT")
        except errors.InsufficientPrivilege:
            left.append("CHECKPOINT requires membership in pg_checkpoint; wait for the server's next checkpoint")
    return left


def _rewrite(db: Connection, schema: str, table: str) -> list[str]:
    """Rewrite a table and its indexes; errors are left to the connection's notices."""
    db.execute(sql.SQL("VACUUM (FULL, ANALYZE, VERBOSE) {}").format(sql.Identifier(schema, table)))
    return []


def _repeat_while_readable(left: list[str], retries: Retries, rewrite: Callable[[], list[str]]) -> None:
    """Run a rewrite; repeat it while an open transaction may still read deleted rows and a retry is left.

    Args:
        left: descriptions of what could not be removed, to which the connection's notices are added.
        retries: the retries of the whole scrub.
        rewrite: returns descriptions of its errors.
    """
    before = len(left)
    left += rewrite()
    while any(text.endswith(_READABLE) for text in left[before:]) and retries.wait():
        del left[before:]
        left += rewrite()


_DEAD = re.compile(r"\b([1-9]\d*) (?:are dead but not yet removable|dead row versions cannot be removed yet)")
_READABLE = "may still be read by an open transaction"
_TABLE = re.compile(r'"(?:[^".]*+\.)*+([^".]+)"')


def _collect_notices(db: Connection) -> list[str]:
    """Collect Postgres's notices about rows and tables that it skips.

    Notices about rows are recognised in English only, because they are text for humans.
    """
    warnings: list[str] = []

    def collect(notice: Diagnostic) -> None:
        text = f"{notice.message_primary} {notice.message_detail or ''}"
        dead, table = _DEAD.search(text), _TABLE.search(text)
        if notice.severity_nonlocalized == "WARNING":
            warnings.append(text.strip())
        elif dead and table:
            warnings.append(f"{dead[1]} rows of {table[1]} {_READABLE}")

    db.add_notice_handler(collect)
    return warnings
