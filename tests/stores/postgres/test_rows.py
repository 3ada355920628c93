"""Counting the lines of a bank without loading all of it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hardship import postgres

from everthread import Memory, NewLine
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder

LINES = 3200


@pytest.fixture(scope="module")
def memory(database: str) -> Iterator[Memory]:
    store = PostgresStore(database)
    made = Memory.open("alice", store=store, embedder=BulkEmbedder(HashEmbedder()), recipe="default")
    made.observe_many(
        [NewLine(f"Line {n} of the {'garden ' * 60}", key=f"k{n}", session=f"s{n // 20}") for n in range(LINES)]
    )
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("ANALYZE")
    yield made
    store.close()


def count_reads(url: str, table: str) -> int:
    """Count the rows of a table that have been read; the store is closed."""
    return postgres.read_statistics(url, table, "seq_tup_read + coalesce(idx_tup_fetch, 0)")


def test_stats_reads_at_most_a_thousand_lines_and_no_vectors_or_postings(memory: Memory, database: str) -> None:
    memory.store.close()
    before = {table: count_reads(database, table) for table in ("line", "vector", "posting")}
    memory.stats()
    memory.store.close()
    assert {table: count_reads(database, table) - rows for table, rows in before.items()} == {
        "line": 1000,
        "vector": 0,
        "posting": 0,
    }


def test_the_size_in_stats_is_close_to_that_of_the_rows(memory: Memory, database: str) -> None:
    with psycopg.connect(database) as db:
        row = db.execute(
            """SELECT (SELECT sum(pg_column_size(line.*)) FROM everthread.line)
               + (SELECT sum(pg_column_size(data)) FROM everthread.vector)
               + (SELECT sum(length(data)) FROM everthread.posting)"""
        ).fetchone()
    assert row is not None
    assert 0.5 < memory.stats().bytes / int(row[0]) < 2
    assert Memory.open("empty", store=memory.store, embedder=HashEmbedder()).stats().bytes == 0


def test_many_keys_are_looked_up_without_reading_the_bank(memory: Memory, database: str) -> None:
    memory.store.close()
    before = count_reads(database, "line")
    assert len(memory.store.get_by_key("alice", [f"k{n}" for n in range(300)])) == 300
    memory.store.close()
    assert count_reads(database, "line") - before == 600  # the number by the key, and the line by the number
