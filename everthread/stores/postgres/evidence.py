"""Writes the records of what was recalled for replies, on Postgres; updates them when lines or units are removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from everthread.common.keys import META_RECALLED
from everthread.stores import evidence
from everthread.stores.postgres.connections import Connection
from everthread.types import JSONValue


def set_record(db: Connection, bank: str, seq: int, record: JSONValue) -> None:
    """Store what was recalled for a line, if the line is current."""
    query = "SELECT metadata FROM everthread.line WHERE bank_id = %s AND seq = %s AND retracted_at IS NULL"
    row = db.execute(query, (bank, seq)).fetchone()
    if row is not None:
        change = "UPDATE everthread.line SET metadata = %s WHERE bank_id = %s AND seq = %s"
        db.execute(change, (evidence.add_record(row[0], record), bank, seq))


def remove_lines(db: Connection, bank: str, seqs: Sequence[int]) -> None:
    """Remove lines (ascending) from the records of all later replies."""
    removed = set(seqs)
    _update(db, bank, seqs[0], lambda metadata: evidence.remove_lines(metadata, removed))


def remove_units(db: Connection, bank: str, kind: str, ids: Collection[int]) -> None:
    """Remove units from the records of all replies."""
    _update(db, bank, 0, lambda metadata: evidence.remove_units(metadata, kind, ids))


def _update(db: Connection, bank: str, after: int, change: Callable[[str], str | None]) -> None:
    query = "SELECT seq, metadata FROM everthread.line WHERE bank_id = %s AND seq > %s AND strpos(metadata, %s) > 0"
    rows = db.execute(query, (bank, after, META_RECALLED)).fetchall()
    with db.pipeline():
        for seq, metadata in rows:
            if (changed := change(metadata)) is not None:
                db.execute(
                    "UPDATE everthread.line SET metadata = %s WHERE bank_id = %s AND seq = %s", (changed, bank, seq)
                )
