"""The SQL conditions that a filter becomes."""

from __future__ import annotations

from pathlib import Path

from everthread import Memory
from everthread.stores.sqlite.filters import build_condition
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Filter


def test_a_key_prefix_reads_no_key_after_its_range(tmp_path: Path) -> None:
    condition, values = build_condition(Filter(key_prefix="proxy:user:"))
    store = SQLiteStore(tmp_path)
    with Memory.open("alice", store=store, embedder=HashEmbedder()), store._bank("alice").file.read_once() as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN SELECT seq FROM line WHERE {condition}", values).fetchall()
    store.close()
    assert any("key>? AND key<?" in row[3] for row in plan), plan
