"""The in-memory cache of an open bank: line columns, dense indexes and unit vectors.

Each is updated by reading the changes in the file since the last use.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

import numpy as np

from everthread.stores import dense_index
from everthread.stores.base import LINE_DTYPE
from everthread.stores.dense_index import DenseIndex
from everthread.stores.line_columns import LineColumns
from everthread.stores.sqlite import column_blocks, rows, unit_vectors
from everthread.stores.sqlite.bank_file import Inode
from everthread.stores.sqlite.unit_vectors import UnitVectors


@dataclass(frozen=True, slots=True)
class _Dense:
    """A dense index, the stamp up to which it was read, and whether exact cosines were requested before."""

    index: DenseIndex
    seen: int = 0
    exact_requested: bool = False


class BankCache:
    """The cache of one bank. Not thread-safe: the caller holds a lock, acquired before its transaction began."""

    def __init__(self) -> None:
        self._inode: Inode | None = None
        self.clear()

    def use_file(self, inode: Inode) -> None:
        """Clear the cache if it was filled from another file, for example because a copy replaced the file."""
        if inode != self._inode:
            self.clear()
            self._inode = inode

    def clear(self) -> None:
        """Drop everything."""
        self._created_at = 0  # of the bank, because a new bank may have the same name
        self._highest_stamp = 0
        self._columns, self._seen = LineColumns.from_lines(np.empty(0, LINE_DTYPE)), 0
        self._dense: dict[int, _Dense] = {}
        self._units: dict[int, tuple[UnitVectors | None, int]] = {}  # by model, with the stamp up to which it was read

    def line_columns(self, db: sqlite3.Connection) -> LineColumns:
        """Return the current columns of the lines."""
        stamp = self._read_stamp(db)
        if self._seen < stamp:
            changes = column_blocks.changes_since(
                db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE, self._columns.seqs, self._seen
            )
            self._columns, self._seen = self._columns.apply(*changes), stamp
        return self._columns

    def dense_index(self, db: sqlite3.Connection, model: str, dim: int, exact: bool = False) -> DenseIndex:
        """Return the current index of a model's vectors.

        With `exact`, the whole vectors are loaded from the second request on, because a process with a single query is
        faster without them.
        """
        stamp = self._read_stamp(db)
        number = self._find_model(db, model, dim)
        if number is None:
            return DenseIndex.empty(dim)
        cached = self._dense.get(number, _Dense(DenseIndex.empty(dim)))
        index = _update_index(db, number, dim, cached) if cached.seen < stamp else cached.index
        if len(index.ids) > dense_index.MAX_RESIDENT_VECTORS:  # it may have grown since it was loaded
            index = replace(index, data=None)
        elif exact and cached.exact_requested and index.data is None:
            index = replace(index, data=rows.read_vectors(db, number, dim, index.ids)[1])
        self._dense[number] = _Dense(index, stamp, cached.exact_requested or exact)
        return index

    def unit_vectors(self, db: sqlite3.Connection, model: str, dim: int) -> UnitVectors | None:
        """Return the current vectors of units of a model; None if there are too many to hold in memory."""
        stamp = self._read_stamp(db)
        number = self._find_model(db, model, dim)
        if number is None:
            return UnitVectors.empty(dim)
        cached, seen = self._units.get(number, (None, -1))
        if seen < stamp:
            counts = unit_vectors.count_by_stamp(db, number)
            fits = sum(counts.values()) <= dense_index.MAX_RESIDENT_VECTORS
            cached = (cached or UnitVectors.empty(dim)).refresh(db, number, counts) if fits else None
            self._units[number] = cached, stamp
        return cached

    def _find_model(self, db: sqlite3.Connection, model: str, dim: int) -> int | None:
        """Return the number of a model, if the bank has it; drop the vectors of models that no longer exist."""
        models = {number: (name, size) for number, name, size in db.execute("SELECT number, name, dim FROM model")}
        self._dense = {number: cached for number, cached in self._dense.items() if number in models}
        self._units = {number: cached for number, cached in self._units.items() if number in models}
        return next((number for number, key in models.items() if key == (model, dim)), None)

    def _read_stamp(self, db: sqlite3.Connection) -> int:
        created_at, stamp = db.execute("SELECT created_at, stamp FROM bank").fetchone()
        if created_at != self._created_at or stamp < self._highest_stamp:  # lower after an older copy was restored
            self.clear()
            self._created_at = created_at
        self._highest_stamp = stamp
        return int(stamp)


def _update_index(db: sqlite3.Connection, model: int, dim: int, cached: _Dense) -> DenseIndex:
    index = cached.index
    patch, codes = column_blocks.changes_since(db, model, column_blocks.code_dtype(dim), index.ids, cached.seen)
    ids = codes["seq"].astype(np.int64)
    data = None if index.data is None else rows.read_vectors(db, model, dim, ids)[1]
    return index.apply(patch, DenseIndex(ids, dense_index.transpose_codes(codes["code"]), data))
