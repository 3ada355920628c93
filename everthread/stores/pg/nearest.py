"""Which vectors of a bank lie nearest to a query: one by one in a small bank, by an index of its own in a large one.

A partial HNSW index (Malkov and Yashunin 2016, by pgvector) covers one bank and one model, so that it holds nobody
else's vectors, and a small bank pays nothing for a large one. It is over the vectors' sign codes, as `stores.vectors`
searches them: a third of the memory of one over halves, twice as quick to write, and of the ten nearest of a question
it finds 99 in a hundred, for the caller compares the vectors themselves anyway.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from pgvector import HalfVector
from psycopg import sql

from everthread.stores.pg.server import Connection, Server
from everthread.types import Seqs, Vector

EXACT = 20_000  # lines with a vector; a larger bank gets an index
WIDTH = 400  # candidates kept while the index is walked; more find more of the nearest, and take longer


def nearest(
    db: Connection, bank: str, model: str, query: Vector, k: int, only: str, values: tuple[object, ...]
) -> Seqs:
    """About k lines whose vectors lie nearest, ascending; `only` is a condition on seq."""
    found = db.execute(
        f"""SELECT number, {_INDEXED} FROM everthread.model WHERE bank_id = %s AND name = %s AND dim = %s""",
        (EXACT, _name(bank, ""), bank, model, len(query)),
    ).fetchone()
    if found is None:
        return np.empty(0, np.int64)
    number, has_index = found
    place = sql.SQL("bank_id = {} AND model = {}").format(bank, number)  # literal, or the planner can't see the index
    order: sql.Composable = sql.SQL("data <#> %s")
    if has_index:
        db.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        db.execute(sql.SQL("SET LOCAL hnsw.ef_search = {}").format(min(max(WIDTH, k), 1000)))
        order = sql.SQL("{} <~> {}").format(_code(sql.SQL("data"), len(query)), _code(sql.SQL("%s"), len(query)))
    rows = db.execute(
        sql.SQL("SELECT seq FROM everthread.vector WHERE {} {} ORDER BY {} LIMIT %s").format(
            place, sql.SQL(only), order
        ),
        (*values, HalfVector(query), k),
        binary=True,
    ).fetchall()
    return np.unique(np.array(rows, np.int64).reshape(-1))


_INDEXED = """lines >= %s AND coalesce(
    (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('everthread.' || %s || number)), false)"""


def _code(vector: sql.Composable, dim: int) -> sql.Composable:
    """The sign code of a vector."""
    return sql.SQL("binary_quantize({}::halfvec({}))::bit({})").format(vector, dim, dim)


def indexed(db: Connection, bank: str, model: int) -> bool:
    """Whether the bank has an index of this model that is whole."""
    row = db.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (f"everthread.{_name(bank, model)}",)
    ).fetchone()
    return bool(row and row[0])


def index(server: Server, bank: str, model: int, dim: int) -> None:
    """Make the index of a bank's vectors, while others read and write."""
    name = sql.Identifier("everthread", _name(bank, model))
    with server.alone() as db:
        if not indexed(db, bank, model):
            db.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name))  # one that was cut short
            db.execute(
                sql.SQL(
                    "CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON everthread.vector "
                    "USING hnsw (({}) bit_hamming_ops) WHERE bank_id = {} AND model = {}"
                ).format(sql.Identifier(_name(bank, model)), _code(sql.SQL("data"), dim), bank, model)
            )
            db.execute(
                sql.SQL("ALTER INDEX {} ALTER COLUMN 1 SET STATISTICS 0").format(name)
            )  # as of the tables' texts


def drop(server: Server, bank: str, model: int) -> None:
    """Drop the index of a bank that is gone."""
    with server.alone() as db:
        name = sql.Identifier("everthread", _name(bank, model))
        db.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name))


def _name(bank: str, model: int | str) -> str:
    return f"hnsw_{sha256(bank.encode()).hexdigest()[:24]}_{model}"
