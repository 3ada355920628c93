"""Checking a bank without loading all of it."""

from __future__ import annotations

from typing import Any, ClassVar

import psycopg

from everthread import Memory, NewLine
from everthread.stores.postgres import consistency
from everthread.testing import HashEmbedder

LINES = 3200


class RecordingCursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor that records the number of rows of each fetch."""

    row_counts: ClassVar[list[int]] = []

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows = super().fetchall()
        self.row_counts.append(len(rows))
        return rows


def test_a_check_reads_a_thousand_lines_at_a_time(database: str) -> None:
    with Memory.open("alice", store=database, embedder=HashEmbedder(8), recipe="default") as memory:
        memory.observe_many([NewLine(f"Line {n} of the garden") for n in range(LINES)])
    with psycopg.connect(database, cursor_factory=RecordingCursor) as db:
        assert consistency.find_contradictions(db, "alice") == []
        assert RecordingCursor.row_counts == [1000, 1000, 1000, 200, 0]
        db.execute("UPDATE everthread.line SET text = 'Spoiled' WHERE seq = %s", (LINES,))
        assert consistency.find_contradictions(db, "alice")[0].startswith("terms: ")
