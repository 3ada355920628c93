"""Searches the vectors of a bank: exhaustively in a small bank, by the bank's own index in a large one.

The sign codes of a large bank (see `stores.dense_index`) are in a separate table with an HNSW index (Malkov and
Yashunin 2016, by pgvector), which contains no other bank's lines and is not touched by other banks' writes. An index
over codes takes a third of the space of one over vectors, and is written twice as fast. Of the ten nearest lines, 99%
are among its first 400, which the caller compares by their vectors.

If Citus distributes the tables, no bank gets such a table, and every bank is searched exhaustively.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import reduce
from hashlib import sha256

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector
from psycopg import errors, sql

from everthread.errors import EverthreadError
from everthread.stores.arrays import max_by_id, union
from everthread.stores.errors import ConnectionLost
from everthread.stores.postgres.arrays import IS_AFTER, IS_IN, SeqArray, read_array, read_bytes
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.postgres.filters import seq_bitmap
from everthread.types import Seqs, Vector

log = logging.getLogger("everthread")

EXACT_SEARCH_LIMIT = 20_000  # lines with a vector; from this number on a bank gets an index
EF_SEARCH = 400  # candidates of the HNSW search; more improve recall and take longer
BUILD_BYTES_PER_CODE = 800  # memory per code while the index is built; without it, building takes five times as long
SELECT_MODEL = "(SELECT number FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s)"
MAX_SCAN_TUPLES = 2_147_483_647  # pgvector's limit of tuples visited for a filter


def nearest_seqs(db: Connection, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
    """Return about k lines whose vectors are nearest, ascending; k for each vector of a query that has several."""
    row = db.execute(
        "SELECT number, large FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s",
        (bank, model, query.shape[-1]),
    ).fetchone()
    if row is None:
        return np.empty(0, np.int64)
    number, large = row
    return union(*(_nearest(db, bank, number, large, vector, k, within) for vector in np.atleast_2d(query)))


def _nearest(db: Connection, bank: str, number: int, large: bool, query: Vector, k: int, within: Seqs | None) -> Seqs:
    if large and (within is None or len(within) > EXACT_SEARCH_LIMIT):
        indexed_hits = _search_index(db, bank, number, query, k, within)
        if within is None or len(indexed_hits) >= min(k, len(within)):
            return union(indexed_hits)
    condition, values = ("", ()) if within is None else (f"AND seq {IS_IN}", (SeqArray(within),))
    rows = db.execute(
        f"""SELECT seq FROM everthread.vector WHERE bank_id = %s AND model = %s {condition}
            ORDER BY data <#> %s LIMIT %s""",
        (bank, number, *values, HalfVector(query), k),
        binary=True,
    ).fetchall()
    return union(np.array(rows, np.int64).reshape(-1))


def cosines(db: Connection, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
    """Return (C,) the greatest cosine of each line's vectors to the query's; NaN for a line without a vector."""
    cosines_by_vector = [_cosines(db, bank, model, vector, seqs) for vector in np.atleast_2d(query)]
    return reduce(np.maximum, cosines_by_vector)


def _cosines(db: Connection, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
    found = db.execute(
        f"""SELECT array_agg(seq), array_agg((-(data <#> %s))::float4) FROM everthread.vector
            WHERE bank_id = %s AND model = {SELECT_MODEL} AND seq {IS_IN}""",
        (HalfVector(query), bank, bank, model, len(query), SeqArray(seqs)),
        binary=True,
    )
    return max_by_id(seqs, read_array(found, 0, "i8"), read_array(found, 1, "f4"))


def send_all_cosines(db: Connection, bank: str, model: str, query: Vector) -> Cursor:
    """Send the query of the cosines of all lines of a bank to a (D,) query, unless the bank has an index."""
    values = (bank, model, len(query))
    return db.execute(
        f"""SELECT array_agg(seq), array_agg((-(data <#> %s))::float4), (SELECT large FROM everthread.model
               WHERE bank_id = %s AND name = %s AND dim = %s)
            FROM everthread.vector WHERE bank_id = %s AND model = {SELECT_MODEL} AND seq {IS_AFTER} AND (
               SELECT NOT large FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s)""",
        (HalfVector(query), *values, bank, *values, 0, *values),
        binary=True,
    )


def parse_all_cosines(sent: Cursor) -> tuple[Seqs, npt.NDArray[np.float32]] | None:
    """Return (V,) the lines of all vectors, ascending, and (V,) their cosines; None if the bank has an index."""
    if read_bytes(sent, 2) == b"\1":
        return None
    seqs, cosines = read_array(sent, 0, "i8"), read_array(sent, 1, "f4")
    order = np.argsort(seqs, kind="stable")
    return seqs[order], cosines[order]


def _search_index(db: Connection, bank: str, model: int, query: Vector, k: int, within: Seqs | None) -> Seqs:
    """Search the index by code; returns fewer than k lines if it stops before it has found k allowed ones."""
    condition, values = seq_bitmap(within)
    db.execute("SET LOCAL enable_sort = off")  # forces the index, independently of the planner's estimates
    db.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
    db.execute(f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCAN_TUPLES}")
    db.execute(f"SET LOCAL hnsw.ef_search = {min(max(EF_SEARCH, k), 1000):d}")
    walk = sql.SQL("SELECT seq FROM {} WHERE bank_id = %s {} ORDER BY code <~> {} LIMIT %s").format(
        _table(bank, model), sql.SQL(condition), _code(sql.SQL("%s"), len(query))
    )
    try:
        rows = db.execute(walk, (bank, *values, HalfVector(query), k), binary=True).fetchall()
    except errors.UndefinedTable as error:
        raise ConnectionLost(f"bank {bank!r} has just been forgotten") from error  # the retry reads the current state
    return np.array(rows, np.int64).reshape(-1)


def indexed_models(db: Connection, bank: str, model: str | None = None) -> list[int]:
    """Return the numbers of the models with a table of codes: all, or those with one name."""
    rows = db.execute(
        """SELECT number FROM everthread.model WHERE bank_id = %s AND large AND name = coalesce(%s::text, name)
           ORDER BY number""",
        (bank, model),
    )
    return [int(number) for (number,) in rows]


def models_needing_index(db: Connection, bank: str) -> list[tuple[int, int]]:
    """Return number and dimension of the models with many vectors and no table of codes."""
    if db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone():
        return []
    rows = db.execute(
        "SELECT number, dim FROM everthread.model WHERE bank_id = %s AND lines >= %s AND NOT large",
        (bank, EXACT_SEARCH_LIMIT),
    )
    return [(int(number), int(dim)) for number, dim in rows]


def build_index(db: Connection, bank: str, model: int, dim: int) -> str:
    """Create the table of a bank's codes with its index; return its name.

    The caller holds the bank's lock. Its writers wait, some seconds for `EXACT_SEARCH_LIMIT` lines; its readers don't.
    """
    table = _table(bank, model)
    db.execute("SET LOCAL statement_timeout = 0")
    db.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))  # an empty table of a forgotten bank with this name
    db.execute(
        sql.SQL(
            """CREATE TABLE {} (bank_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, ordinal int NOT NULL,
               code bit({}) NOT NULL, PRIMARY KEY (bank_id, seq, ordinal))"""
        ).format(table, dim)
    )
    added = put(db, bank, model, dim)
    megabytes = min(added * BUILD_BYTES_PER_CODE // 2**20, 1024)
    if added * BUILD_BYTES_PER_CODE > 64 * 2**20:  # the default of Postgres
        db.execute(f"SET LOCAL maintenance_work_mem = '{megabytes:d}MB'")
        db.execute("SET LOCAL max_parallel_maintenance_workers = 0")  # containers have little shared memory
    # Statistics would contain codes of forgotten lines, as in the other tables (see `schema`).
    db.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN code SET STATISTICS 0").format(table))
    db.execute(sql.SQL("CREATE INDEX ON {} USING hnsw (code bit_hamming_ops)").format(table))
    db.execute("UPDATE everthread.model SET large = true WHERE bank_id = %s AND number = %s", (bank, model))
    return _name(bank, model)


class BackgroundBuilder:
    """Builds the indexes of banks that have become large, once per process and model, in threads."""

    def __init__(self, build: Callable[[str], int]) -> None:
        """Create a builder that calls `build` with the id of a bank."""
        self._build = build
        self._started: set[tuple[str, int]] = set()  # banks and models

    def schedule(self, bank: str, number: int, lines: int) -> None:
        """Start building if the bank's model of this number, which has no index, has vectors of many lines."""
        if lines >= EXACT_SEARCH_LIMIT and (bank, number) not in self._started:
            self._started.add((bank, number))
            threading.Thread(target=self._run, args=(bank,), name="everthread index", daemon=True).start()

    def _run(self, bank: str) -> None:
        try:
            self._build(bank)
        except EverthreadError as error:  # queries still work, only slower
            log.warning(
                "bank %r is large and could not be indexed: %s. Run as the tables' owner: everthread db index URL",
                bank,
                error,
            )


def put(db: Connection, bank: str, model: int, dim: int, seqs: Sequence[int] | None = None) -> int:
    """Add the codes of the vectors of some lines, or of all, to the table; return their number."""
    condition, values = ("", ()) if seqs is None else ("AND seq = ANY(%s)", (list(seqs),))
    added = db.execute(
        sql.SQL(
            """INSERT INTO {} SELECT bank_id, seq, ordinal, {} FROM everthread.vector
               WHERE bank_id = %s AND model = %s {}"""
        ).format(_table(bank, model), _code(sql.SQL("data"), dim), sql.SQL(condition)),
        (bank, model, *values),
    )
    return int(added.rowcount)


def remove(db: Connection, bank: str, models: Sequence[int], seqs: Sequence[int]) -> None:
    """Remove the codes of lines from the tables."""
    for model in models:
        delete = sql.SQL("DELETE FROM {} WHERE bank_id = %s AND seq = ANY(%s)").format(_table(bank, model))
        db.execute(delete, (bank, list(seqs)))


def drop(db: Connection, bank: str, models: Sequence[int]) -> None:
    """Drop the tables; a role that doesn't own a table empties it instead."""
    query = "SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE schemaname = 'everthread' AND tablename = %s"
    for model in models:
        row = db.execute(query, (_name(bank, model),)).fetchone()
        statement = sql.SQL("DROP TABLE {}" if row and row[0] else "DELETE FROM {}")
        db.execute(statement.format(_table(bank, model)))


def all_tables(db: Connection) -> list[str]:
    """Return the names of all tables of codes."""
    rows = db.execute(
        r"SELECT tablename FROM pg_tables WHERE schemaname = 'everthread' AND tablename LIKE 'code\_%' ORDER BY 1"
    )
    return [str(name) for (name,) in rows]


def bank_tables(db: Connection, bank: str) -> list[str]:
    """Return the names of the bank's tables of codes."""
    return [_name(bank, model) for model in indexed_models(db, bank)]


def _name(bank: str, model: int) -> str:
    """Return the table name of a bank's codes: a hash, because every role that may log in can read table names."""
    return f"code_{sha256(bank.encode()).hexdigest()[:32]}_{model}"


def _table(bank: str, model: int) -> sql.Identifier:
    return sql.Identifier("everthread", _name(bank, model))


def _code(vector: sql.Composable, dim: int) -> sql.Composable:
    """Build the SQL expression of a vector's sign code."""
    return sql.SQL("binary_quantize({}::halfvec({}))::bit({})").format(vector, dim, dim)
