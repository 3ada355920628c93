"""Which vectors of a bank lie nearest to a query: one by one in a small bank, by an index of its own in a large one.

A large bank's sign codes (see `stores.dense_index`) have a table of their own beside its vectors, under an HNSW index
(Malkov and Yashunin 2016, by pgvector): nobody else's lines lie in it, and nobody else's writes touch it. An index over
codes takes a third of the room of one over the vectors, is written twice as fast, and of the ten nearest of a question
finds 99 in a hundred among its first 400, which the caller compares by their vectors anyway.

Where tables are spread by Citus, no bank gets such a table, and every bank is searched one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import sha256

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector
from psycopg import errors, sql

from everthread.stores.arrays import max_by_id, union
from everthread.stores.postgres.connections import Connection, ConnectionLost
from everthread.stores.postgres.filters import array, seq_bitmap
from everthread.types import Seqs, Vector

EXACT_SEARCH_LIMIT = 20_000  # lines with a vector; a larger bank gets an index
EF_SEARCH = 400  # candidates kept while the index is walked; more find more of the nearest, and take longer
ROOM = 800  # bytes of memory for a code while the index is built; where they don't fit, it takes five times as long
MODEL = "(SELECT number FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s)"
MOST = 2_147_483_647  # of what pgvector may look at for a filter


def nearest(db: Connection, bank: str, model: str, query: Vector, k: int, among: Seqs | None) -> Seqs:
    """About k lines whose vectors lie nearest, ascending; k to each vector of a query that has several."""
    found = db.execute(
        "SELECT number, large FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s",
        (bank, model, query.shape[-1]),
    ).fetchone()
    if found is None:
        return np.empty(0, np.int64)
    number, large = found
    return union(*(_nearest(db, bank, number, large, each, k, among) for each in np.atleast_2d(query)))


def _nearest(db: Connection, bank: str, number: int, large: bool, query: Vector, k: int, among: Seqs | None) -> Seqs:
    if large and (among is None or len(among) > EXACT_SEARCH_LIMIT):
        walked = _walked(db, bank, number, query, k, among)
        if among is None or len(walked) >= min(k, len(among)):
            return union(walked)
    condition, values = ("", ()) if among is None else ("AND seq = ANY(%s::bigint[])", (array(among),))
    rows = db.execute(
        f"""SELECT seq FROM everthread.vector WHERE bank_id = %s AND model = %s {condition}
            ORDER BY data <#> %s LIMIT %s""",
        (bank, number, *values, HalfVector(query), k),
        binary=True,
    ).fetchall()
    return union(np.array(rows, np.int64).reshape(-1))


def cosines(db: Connection, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
    """(C,) the cosine of each line's nearest vector to the nearest of the query's; NaN where it has none."""
    found = [_cosines(db, bank, model, each, seqs) for each in np.atleast_2d(query)]
    return reduce(np.maximum, found)


def _cosines(db: Connection, bank: str, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32]:
    row = db.execute(
        f"""SELECT array_agg(seq), array_agg((-(data <#> %s))::float4) FROM everthread.vector
            WHERE bank_id = %s AND model = {MODEL} AND seq = ANY(%s::bigint[])""",
        (HalfVector(query), bank, bank, model, len(query), array(seqs)),
        binary=True,
    ).fetchone()
    ids, values = row if row and row[0] else ((), ())
    return max_by_id(seqs, np.array(ids, np.int64), np.array(values, np.float32))


def _walked(db: Connection, bank: str, model: int, query: Vector, k: int, among: Seqs | None) -> Seqs:
    """Lines by their codes, from the index; fewer than k where it gave up looking for ones that are allowed."""
    condition, values = seq_bitmap(among)
    db.execute("SET LOCAL enable_sort = off")  # whatever the planner takes the table for: by the index
    db.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
    db.execute(f"SET LOCAL hnsw.max_scan_tuples = {MOST}")
    db.execute(f"SET LOCAL hnsw.ef_search = {min(max(EF_SEARCH, k), 1000):d}")
    walk = sql.SQL("SELECT seq FROM {} WHERE bank_id = %s {} ORDER BY code <~> {} LIMIT %s").format(
        _table(bank, model), sql.SQL(condition), _code(sql.SQL("%s"), len(query))
    )
    try:
        rows = db.execute(walk, (bank, *values, HalfVector(query), k), binary=True).fetchall()
    except errors.UndefinedTable as error:
        raise ConnectionLost(f"bank {bank!r} has just been forgotten") from error  # as a second look will show
    return np.array(rows, np.int64).reshape(-1)


def indexed_models(db: Connection, bank: str, model: str | None = None) -> list[int]:
    """The models of which the bank has a table of codes: all, or those of one name."""
    rows = db.execute(
        """SELECT number FROM everthread.model WHERE bank_id = %s AND large AND name = coalesce(%s::text, name)
           ORDER BY number""",
        (bank, model),
    )
    return [int(number) for (number,) in rows]


def needs_index(db: Connection, bank: str) -> list[tuple[int, int]]:
    """Number and dimension of the models of which the bank has many vectors and no table of codes yet."""
    if db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone():
        return []
    rows = db.execute(
        "SELECT number, dim FROM everthread.model WHERE bank_id = %s AND lines >= %s AND NOT large",
        (bank, EXACT_SEARCH_LIMIT),
    )
    return [(int(number), int(dim)) for number, dim in rows]


def build_index(db: Connection, bank: str, model: int, dim: int) -> str:
    """Make the table of a bank's codes, with its index; its name. The bank must be locked: its writers wait for that,
    some seconds for EXACT lines; its readers don't."""
    table = _table(bank, model)
    db.execute("SET LOCAL statement_timeout = 0")
    db.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))  # an empty one, of a bank that had this name
    db.execute(
        sql.SQL(
            """CREATE TABLE {} (bank_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, ordinal int NOT NULL,
               code bit({}) NOT NULL, PRIMARY KEY (bank_id, seq, ordinal))"""
        ).format(table, dim)
    )
    added = put(db, bank, model, dim)
    if added * ROOM > 64 * 2**20:  # Postgres's own choice; not in parallel, for containers share little memory
        room = min(added * ROOM // 2**20, 1024)
        db.execute(f"SET LOCAL maintenance_work_mem = '{room:d}MB'")
        db.execute("SET LOCAL max_parallel_maintenance_workers = 0")
    db.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN code SET STATISTICS 0").format(table))  # as of all that is said
    db.execute(sql.SQL("CREATE INDEX ON {} USING hnsw (code bit_hamming_ops)").format(table))
    db.execute("UPDATE everthread.model SET large = true WHERE bank_id = %s AND number = %s", (bank, model))
    return _name(bank, model)


def put(db: Connection, bank: str, model: int, dim: int, seqs: Sequence[int] | None = None) -> int:
    """Add the codes of these lines' vectors, or of all, to the table; how many were added."""
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
    """Take the codes of these lines out of the tables."""
    for model in models:
        delete = sql.SQL("DELETE FROM {} WHERE bank_id = %s AND seq = ANY(%s)").format(_table(bank, model))
        db.execute(delete, (bank, list(seqs)))


def drop(db: Connection, bank: str, models: Sequence[int]) -> None:
    """Drop the tables. A role that doesn't own one empties it."""
    mine = "SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE schemaname = 'everthread' AND tablename = %s"
    for model in models:
        row = db.execute(mine, (_name(bank, model),)).fetchone()
        end = sql.SQL("DROP TABLE {}" if row and row[0] else "DELETE FROM {}")
        db.execute(end.format(_table(bank, model)))


def tables(db: Connection) -> list[str]:
    """The names of all tables of codes."""
    rows = db.execute(
        r"SELECT tablename FROM pg_tables WHERE schemaname = 'everthread' AND tablename LIKE 'code\_%' ORDER BY 1"
    )
    return [str(name) for (name,) in rows]


def names(db: Connection, bank: str) -> list[str]:
    """The names of the bank's tables of codes."""
    return [_name(bank, model) for model in indexed_models(db, bank)]


def _name(bank: str, model: int) -> str:
    """Of a bank's codes: without the bank's id, which anybody who may log in could read there."""
    return f"code_{sha256(bank.encode()).hexdigest()[:32]}_{model}"


def _table(bank: str, model: int) -> sql.Identifier:
    return sql.Identifier("everthread", _name(bank, model))


def _code(vector: sql.Composable, dim: int) -> sql.Composable:
    """The sign code of a vector."""
    return sql.SQL("binary_quantize({}::halfvec({}))::bit({})").format(vector, dim, dim)
