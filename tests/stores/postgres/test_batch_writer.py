"""Batches that are too large for one statement or one pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from everthread import Memory, NewLine
from everthread.stores.postgres import batch_writer, bulk_insert
from everthread.testing import HashEmbedder


def test_rows_are_split_into_statements_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_insert, "MAX_STATEMENT_BYTES", 1000)
    rows = [(n, "x" * size, b"y" * size) for n, size in enumerate([10, 50, 70, 500, 1, 1, 0, 120, 900])]
    found = list(bulk_insert.split_by_size(rows))
    assert [[n for n, *_ in run] for run in found] == [[0, 1], [2], [3], [4, 5, 6], [7], [8]]


@pytest.mark.parametrize("large", [0, batch_writer.MAX_PIPELINE_BYTES])
def test_a_batch_split_into_many_statements_is_stored_completely(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(bulk_insert, "MAX_STATEMENT_BYTES", 2000)
    monkeypatch.setattr(batch_writer, "MAX_PIPELINE_BYTES", large)
    said = [
        NewLine(f'Line {n} \U0001f9f5 \\ " of the lighthouse {"and the sea " * n}', session=f"{n // 9}", key=f"{n}")
        for n in range(60)
    ]
    found = []
    for store in (database, tmp_path):
        with Memory.open(f"{large}", store=store, embedder=HashEmbedder(), recipe="default") as memory:
            memory.observe_many(said[:30])
            memory.observe_many(said[30:])
            assert memory.store.check(memory.bank) == []
            assert memory.stats().pending == 0
            found.append([(line.seq, line.session, line.text, line.key) for line in memory.lines()])
    assert found[0] == found[1]
