"""Forgetting costs what is forgotten, and not what the bank holds. That the right things go is in `test_congruence`."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from everthread import Memory, NewLine
from everthread.bench.speed import BulkEmbedder
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """A bank in whose every line stands one word, of 16 blocks."""
    store = PostgresStore(database)
    made = Memory.open("alice", store=store, embedder=BulkEmbedder(HashEmbedder()), recipe="default")
    made.observe_many(
        [NewLine("fern", speaker="Bob" if n % 2 else "Ann", session=f"s{n // 30}") for n in range(16 * 192)]
    )
    yield made
    made.forget(everything=True)
    store.close()


def written(url: str, table: str) -> int:
    """How many rows of a table have been changed or removed."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_stat_force_next_flush()")
        row = db.execute(
            "SELECT n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE schemaname = 'everthread' AND relname = %s",
            (table,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_line_takes_its_own_block_and_the_count_in_the_last_one(memory: Memory, database: str) -> None:
    memory.store.close()
    before = written(database, "posting")
    memory.forget(seq=5)
    memory.store.close()
    assert written(database, "posting") - before == 2


def test_all_that_a_speaker_said_takes_each_block_once(memory: Memory, database: str) -> None:
    memory.store.close()
    before = written(database, "posting")
    memory.forget(speaker="Bob")
    memory.store.close()
    assert written(database, "posting") - before == 16 + 1
    assert memory.store.check("alice") == []


def test_only_the_sessions_that_lost_a_line_are_written(memory: Memory, database: str) -> None:
    memory.store.close()
    before = written(database, "session")
    memory.forget(seq=100)
    memory.forget(session="s7")
    memory.store.close()
    assert written(database, "session") - before <= 4  # their counts and their ends
    assert [session.id for session in memory.sessions() if session.lines != 30] == ["s3", "s102"]
