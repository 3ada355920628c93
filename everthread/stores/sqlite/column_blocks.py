"""Columns of a bank's lines inside SQLite, packed in blocks: what a search reads of every line, it reads quickly.

A million rows take SQLite seconds to give; in blocks they are some ten thousand, and a change still dirties one page.
A block holds the records of BLOCK consecutive lines, ascending by seq. `of` says which: LINES, what scoring needs of
the lines themselves, or the number of a model, the codes of its vectors.

Every change has a stamp, counted up in the bank. A block carries that of its last change and that of its last change
that did more than append, so that a picture in memory is brought up to date by what is new alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch
from everthread.types import Seqs

BLOCK = 72  # lines: with 52 bytes a code, a block fills a page of 4,096
LINES = 0

Records = npt.NDArray[np.void]  # (n,) of a dtype with the field seq


def code(dim: int) -> np.dtype[np.void]:
    """The record of a vector's code: one bit a dimension, in whole words of 64."""
    return np.dtype([("seq", "<u4"), ("code", "u1", (-(-dim // 64) * 8,))])


def stamp(db: sqlite3.Connection) -> int:
    """The stamp of a change that is made now."""
    return int(db.execute("UPDATE bank SET stamp = stamp + 1 RETURNING stamp").fetchone()[0])


def put(db: sqlite3.Connection, of: int, records: Records) -> None:
    """Keep records (ascending by seq), in place of those of the same lines."""
    at = stamp(db)
    for number, new in _by_block(records):
        row = db.execute("SELECT data, mended FROM block WHERE of = ? AND number = ?", (of, number)).fetchone()
        old, mended = (np.frombuffer(row[0], records.dtype), row[1]) if row else (records[:0], 0)
        if len(old) and new["seq"][0] <= old["seq"][-1]:
            mended = at
            old = old[~np.isin(old["seq"], new["seq"])]
            both = np.concatenate([old, new])
            data = both[np.argsort(both["seq"], kind="stable")].tobytes()
        else:
            data = old.tobytes() + new.tobytes()
        db.execute(
            """INSERT INTO block (of, number, stamp, mended, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT (of, number)
               DO UPDATE SET stamp = excluded.stamp, mended = excluded.mended, data = excluded.data""",
            (of, number, at, mended, data),
        )


def remove(db: sqlite3.Connection, of: int, kind: np.dtype[np.void], seqs: Seqs) -> Seqs:
    """Take out the records of these lines; which had any. A block that is emptied stays, so that its stamp tells it."""
    at = stamp(db)
    gone = [np.empty(0, np.int64)]
    for number in np.unique(seqs // BLOCK).tolist():
        row = db.execute("SELECT data FROM block WHERE of = ? AND number = ?", (of, number)).fetchone()
        if row is None:
            continue
        old = np.frombuffer(row[0], kind)
        going = np.isin(old["seq"], seqs)
        if going.any():
            gone.append(np.unique(old["seq"][going]).astype(np.int64))
            db.execute(
                "UPDATE block SET stamp = ?, mended = ?, data = ? WHERE of = ? AND number = ?",
                (at, at, old[~going].tobytes(), of, number),
            )
    return np.concatenate(gone)


def changes_since(
    db: sqlite3.Connection, of: int, kind: np.dtype[np.void], ids: Seqs, seen: int
) -> tuple[ArrayPatch, Records]:
    """What has changed since the stamp `seen`, for whoever holds the records of these ids (ascending): where it belongs
    among them, and the records, ascending by seq."""
    index = "block_stamp" if seen else "block_number"  # who has seen nothing reads all, in order
    places: list[tuple[int, int, int]] = []
    found = bytearray()
    for number, mended, data in db.execute(
        f"SELECT number, mended, data FROM block INDEXED BY {index} WHERE of = ? AND stamp > ? ORDER BY number",
        (of, seen),
    ):
        first, end = np.searchsorted(ids, (number * BLOCK, (number + 1) * BLOCK)).tolist() if len(ids) else (0, 0)
        had = 0 if mended > seen else end - first
        places.append((first + had, end, len(data) // kind.itemsize - had))
        found += data[had * kind.itemsize :]
    return ArrayPatch(places), np.frombuffer(found, kind)


def read_all(db: sqlite3.Connection, of: int, kind: np.dtype[np.void]) -> Records:
    """All records, ascending by seq."""
    return changes_since(db, of, kind, np.empty(0, np.int64), 0)[1]


def _by_block(records: Records) -> Iterator[tuple[int, Records]]:
    numbers = records["seq"].astype(np.int64) // BLOCK
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(records)]):
        yield int(numbers[start]), records[start:end]
