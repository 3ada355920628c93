"""Writes the records of what was recalled for replies, on Postgres; updates them when lines or units are removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from everthread.common.keys import META_RECALLED
from everthread.stores import recall_records
from everthread.stores.postgres.connections import Connection
from everthread.types import JSONValue

CHANGE = "UPDATE everthread.line SET metadata = %s WHERE bank_id = %s AND seq = %s"


def set_records(db: Connection, bank: str, records: Mapping[int, JSONValue]) -> None:
    """Store what was recalled for lines, by their numbers; retracted and missing lines are left out."""
    query = "SELECT seq, metadata FROM everthread.line WHERE bank_id = %s AND seq = ANY(%s) AND retracted_at IS NULL"
    rows = db.execute(query, (bank, list(records))).fetchall()
    with db.pipeline():
        for seq, metadata in rows:
            db.execute(CHANGE, (recall_records.add_record(metadata, records[seq]), bank, seq))


def remove_lines(db: Connection, bank: str, seqs: Sequence[int]) -> None:
    """Remove lines (ascending) from the records of all later replies."""
    removed = set(seqs)
    _update(db, bank, seqs[0], lambda metadata: recall_records.remove_lines(metadata, removed))


def remove_units(db: Connection, bank: str, kind: str, ids: Collection[int]) -> bool:
    """Remove units from the records of all replies; return whether there were any."""
    return _update(db, bank, 0, lambda metadata: recall_records.remove_units(metadata, kind, ids))


def _update(db: Connection, bank: str, after: int, change: Callable[[str], str | None]) -> bool:
    """Change the metadata of lines, and return whether any changed."""
    query = "SELECT seq, metadata FROM everthread.line WHERE bank_id = %s AND seq > %s AND strpos(metadata, %s) > 0"
    rows = db.execute(query, (bank, after, META_RECALLED)).fetchall()
    changes = [(changed, bank, seq) for seq, metadata in rows if (changed := change(metadata)) is not None]
    with db.pipeline():
        for values in changes:
            db.execute(CHANGE, values)
    return bool(changes)
