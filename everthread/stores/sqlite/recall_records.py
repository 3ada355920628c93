"""Writes the records of what was recalled for replies, in SQLite; updates them when lines or units are removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence

from everthread.common.keys import META_RECALLED
from everthread.stores import recall_records
from everthread.types import JSONValue


def set_records(db: sqlite3.Connection, records: Mapping[int, JSONValue]) -> None:
    """Store what was recalled for lines, by their numbers; retracted and missing lines are left out."""
    for seq, record in records.items():
        row = db.execute("SELECT metadata FROM line WHERE seq = ? AND retracted_at IS NULL", (seq,)).fetchone()
        if row is not None:
            db.execute("UPDATE line SET metadata = ? WHERE seq = ?", (recall_records.add_record(row[0], record), seq))


def remove_lines(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove lines (ascending) from the records of all later replies."""
    removed = set(seqs)
    _update(db, seqs[0], lambda metadata: recall_records.remove_lines(metadata, removed))


def remove_units(db: sqlite3.Connection, kind: str, ids: Collection[int]) -> None:
    """Remove units from the records of all replies."""
    _update(db, 0, lambda metadata: recall_records.remove_units(metadata, kind, ids))


def _update(db: sqlite3.Connection, after: int, change: Callable[[str], str | None]) -> None:
    query = "SELECT seq, metadata FROM line WHERE seq > ? AND instr(metadata, ?)"
    rows = [(change(metadata), seq) for seq, metadata in db.execute(query, (after, META_RECALLED))]
    db.executemany("UPDATE line SET metadata = ? WHERE seq = ?", [row for row in rows if row[0] is not None])
