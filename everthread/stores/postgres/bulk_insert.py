"""Inserts many rows into a table of Postgres, in as few statements as their size allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pgvector import HalfVector

from everthread.stores.postgres.connections import Connection

_PLACEHOLDERS = {"halfvec": "%b"}  # in binary: the driver would write each number of a vector in digits
MAX_STATEMENT_BYTES = 2**26  # of the rows in one statement, roughly: Postgres accepts 1 GB


def insert(
    db: Connection, bank: str, table: str, kinds: Sequence[str], rows: Sequence[tuple[Any, ...]], end: str = ""
) -> None:
    """Insert rows of an existing bank, one array per column; in one statement unless they are very large.

    The bank's id is read from its row, so that Citus passes the whole statement on to the worker of the bank. It would
    read the rows of a SELECT without a table itself, and copy them to the worker: in two phases, and not for a role
    that row-level security binds.
    """
    arrays = ", ".join(f"{_PLACEHOLDERS.get(kind, '%s')}::{kind}[]" for kind in kinds)
    for batch in split_by_size(rows):
        columns = map(list, zip(*batch, strict=True))
        db.execute(
            f"""INSERT INTO everthread.{table} SELECT bank.bank_id, new.*
                FROM everthread.bank, unnest({arrays}) AS new WHERE bank.bank_id = %s {end}""",
            (*columns, bank),
        )


def split_by_size(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Split rows into batches that fit in one statement."""
    start = batch_bytes = 0
    for end, row in enumerate(rows):
        row_bytes = sum(map(size_of, row))
        if end > start and batch_bytes + row_bytes > MAX_STATEMENT_BYTES:
            yield rows[start:end]
            start, batch_bytes = end, 0
        batch_bytes += row_bytes
    if rows:
        yield rows[start:]


def size_of(value: object) -> int:
    """Return an upper bound of a value's size in an array literal, in bytes."""
    if isinstance(value, str | bytes):
        return 4 * len(value)
    return 16 * value.dimensions() if isinstance(value, HalfVector) else 16
