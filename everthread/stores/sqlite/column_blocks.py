"""Columns of a bank's lines in SQLite, packed in blocks, so that a search reads one column of every line quickly.

SQLite takes seconds to return a million rows; in blocks they are about ten thousand, and a change still dirties one
page. A block holds the records of consecutive lines, ascending by seq. The column `of` identifies their kind: the
columns of the lines themselves (`LINE_COLUMNS_ID`), or the codes of a model's vectors (the number of the model).

Every change has a stamp, counted up in the bank. A block stores the stamp of its last change (`stamp`) and that of
its last change other than an append (`mended`), so that a cached copy is updated by reading new records only.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch, is_member
from everthread.types import Seqs

LINES_PER_BLOCK = 72  # with 52 bytes per code, a block fills a page of 4,096 bytes
LINE_COLUMNS_ID = 0

Records = npt.NDArray[np.void]  # (n,) of a dtype with the field seq


def code_dtype(dim: int) -> np.dtype[np.void]:
    """Return the dtype of a vector's code: one bit per dimension, in whole words of 64 bits."""
    return np.dtype([("seq", "<u4"), ("code", "u1", (-(-dim // 64) * 8,))])


def next_stamp(db: sqlite3.Connection) -> int:
    """Increment the bank's stamp, and return it."""
    return int(db.execute("UPDATE bank SET stamp = stamp + 1 RETURNING stamp").fetchone()[0])


def put(db: sqlite3.Connection, of: int, records: Records) -> None:
    """Store records (ascending by seq), replacing those of the same lines."""
    stamp = next_stamp(db)
    for number, new in _by_block(records):
        row = db.execute("SELECT data, mended FROM block WHERE of = ? AND number = ?", (of, number)).fetchone()
        old, rewritten_at = (np.frombuffer(row[0], records.dtype), row[1]) if row else (records[:0], 0)
        if len(old) and new["seq"][0] <= old["seq"][-1]:
            rewritten_at = stamp
            old = old[~np.isin(old["seq"], new["seq"])]
            merged = np.concatenate([old, new])
            data = merged[np.argsort(merged["seq"], kind="stable")].tobytes()
        else:
            data = old.tobytes() + new.tobytes()
        db.execute(
            """INSERT INTO block (of, number, stamp, mended, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT (of, number)
               DO UPDATE SET stamp = excluded.stamp, mended = excluded.mended, data = excluded.data""",
            (of, number, stamp, rewritten_at, data),
        )


def remove(db: sqlite3.Connection, of: int, kind: np.dtype[np.void], seqs: Seqs) -> Seqs:
    """Remove the records of these lines. An empty block stays, because its stamp reports the removal.

    Returns:
        The lines that had records.
    """
    stamp = next_stamp(db)
    removed = [np.empty(0, np.int64)]
    for number in np.unique(seqs // LINES_PER_BLOCK).tolist():
        row = db.execute("SELECT data FROM block WHERE of = ? AND number = ?", (of, number)).fetchone()
        if row is None:
            continue
        old = np.frombuffer(row[0], kind)
        is_removed = np.isin(old["seq"], seqs)
        if is_removed.any():
            removed.append(np.unique(old["seq"][is_removed]).astype(np.int64))
            db.execute(
                "UPDATE block SET stamp = ?, mended = ?, data = ? WHERE of = ? AND number = ?",
                (stamp, stamp, old[~is_removed].tobytes(), of, number),
            )
    return np.concatenate(removed)


def changes_since(
    db: sqlite3.Connection, of: int, kind: np.dtype[np.void], ids: Seqs, seen: int
) -> tuple[ArrayPatch, Records]:
    """Read the records that have changed since a stamp.

    Args:
        db: a connection in a transaction.
        of: the kind of the records.
        kind: their dtype.
        ids: (N,) the seqs of the records that the caller holds, ascending.
        seen: the stamp up to which they were read; 0 for none.

    Returns:
        The patch to the caller's records, and the new records, ascending by seq.
    """
    index = "block_stamp" if seen else "block_number"  # a first read takes all blocks, in order
    edits: list[tuple[int, int, int]] = []
    changed = bytearray()
    query = f"SELECT number, mended, data FROM block INDEXED BY {index} WHERE of = ? AND stamp > ? ORDER BY number"
    for number, rewritten_at, data in db.execute(query, (of, seen)).fetchall():
        first, end = (
            np.searchsorted(ids, (number * LINES_PER_BLOCK, (number + 1) * LINES_PER_BLOCK)).tolist()
            if len(ids)
            else (0, 0)
        )
        unchanged_count = 0 if rewritten_at > seen else end - first
        edits.append((first + unchanged_count, end, len(data) // kind.itemsize - unchanged_count))
        changed += data[unchanged_count * kind.itemsize :]
    return ArrayPatch(edits), np.frombuffer(changed, kind)


def read(db: sqlite3.Connection, of: int, kind: np.dtype[np.void], seqs: Seqs) -> Records:
    """Return the records of these lines (ascending)."""
    rows = db.execute(
        "SELECT data FROM json_each(?) CROSS JOIN block ON of = ? AND number = value ORDER BY number",
        (json.dumps(np.unique(seqs // LINES_PER_BLOCK).tolist()), of),
    ).fetchall()
    records = np.frombuffer(b"".join(data for (data,) in rows), kind)
    return records[is_member(records["seq"], seqs)]


def read_all(db: sqlite3.Connection, of: int, kind: np.dtype[np.void]) -> Records:
    """Return all records, ascending by seq."""
    return changes_since(db, of, kind, np.empty(0, np.int64), 0)[1]


def _by_block(records: Records) -> Iterator[tuple[int, Records]]:
    numbers = records["seq"].astype(np.int64) // LINES_PER_BLOCK
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(records)]):
        yield int(numbers[start]), records[start:end]
