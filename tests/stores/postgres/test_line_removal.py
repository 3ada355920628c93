"""The cost of forgetting depends on the forgotten lines, not on the size of the bank.

`test_congruence` checks that the right rows are removed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hardship import postgres

from everthread import Memory, NewLine
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """Yield a bank whose lines all contain one word, whose postings fill 16 blocks."""
    store = PostgresStore(database)
    made = Memory.open("alice", store=store, embedder=BulkEmbedder(HashEmbedder()), recipe="default")
    made.observe_many(
        [NewLine("fern", speaker="Bob" if n % 2 else "Ann", session=f"s{n // 30}") for n in range(16 * 192)]
    )
    yield made
    made.forget(everything=True)
    store.close()


def count_writes(url: str, table: str) -> int:
    """Count the rows of a table that were changed or removed; the store is closed."""
    return postgres.read_statistics(url, table, "n_tup_upd + n_tup_del")


def test_forgetting_a_line_writes_its_block_and_the_count_in_the_last_block(memory: Memory, database: str) -> None:
    memory.store.close()
    before = count_writes(database, "posting")
    memory.forget(seq=5)
    memory.store.close()
    assert count_writes(database, "posting") - before == 2


def test_forgetting_a_speaker_writes_each_block_once(memory: Memory, database: str) -> None:
    memory.store.close()
    before = count_writes(database, "posting")
    memory.forget(speaker="Bob")
    memory.store.close()
    assert count_writes(database, "posting") - before == 16 + 1
    assert memory.store.check("alice") == []


def test_only_sessions_that_lost_a_line_are_written(memory: Memory, database: str) -> None:
    memory.store.close()
    before = count_writes(database, "session")
    memory.forget(seq=100)
    memory.forget(session="s7")
    memory.store.close()
    assert count_writes(database, "session") - before <= 4  # their counts and their ends
    assert [session.id for session in memory.sessions() if session.lines != 30] == ["s3", "s102"]
