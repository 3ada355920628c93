"""What an open bank holds in memory of its file: its lines' columns, its dense indexes and the vectors of its units,
each brought up to what the file says now by reading what has changed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

import numpy as np

from everthread.stores.base import LINE_DTYPE
from everthread.stores.sqlite import column_blocks, dense_index, rows, unit_vectors
from everthread.stores.sqlite.bank_file import Inode
from everthread.stores.sqlite.dense_index import DenseIndex
from everthread.stores.sqlite.line_columns import Columns
from everthread.stores.sqlite.unit_vectors import UnitVectors


@dataclass(frozen=True, slots=True)
class _Dense:
    """A dense index, the stamp up to which it was read, and whether cosines were wanted of it before."""

    index: DenseIndex
    seen: int = 0
    asked: bool = False


class BankCache:
    """Of one bank. Not safe from threads: whoever calls holds a lock, taken before the transaction was begun."""

    def __init__(self) -> None:
        self._inode: Inode | None = None
        self.clear()

    def use_file(self, inode: Inode) -> None:
        """What is looked at next is this file: what is held of another one, as of one that a copy replaced, goes."""
        if inode != self._inode:
            self.clear()
            self._inode = inode

    def clear(self) -> None:
        """Hold nothing."""
        self._made = self._stamped = 0  # when the bank was created, as it may be made anew; its highest stamp seen
        self._columns, self._seen = Columns.of(np.empty(0, LINE_DTYPE)), 0
        self._dense: dict[int, _Dense] = {}
        self._units: dict[int, tuple[UnitVectors | None, int]] = {}  # by model, with the stamp up to which it was read

    def columns(self, db: sqlite3.Connection) -> Columns:
        """The lines as the file has them."""
        stamp = self._stamp(db)
        if self._seen < stamp:
            news = column_blocks.changes_since(db, column_blocks.LINES, LINE_DTYPE, self._columns.seqs, self._seen)
            self._columns, self._seen = self._columns.newer(*news), stamp
        return self._columns

    def dense(self, db: sqlite3.Connection, model: str, dim: int, exact: bool = False) -> DenseIndex:
        """The index of a model's vectors as the file has them; with the whole vectors, if `exact` is asked for, from
        the second time on, because a process that asks only once is done sooner without them."""
        stamp = self._stamp(db)
        there = {number for (number,) in db.execute("SELECT number FROM model")}
        self._dense = {number: held for number, held in self._dense.items() if number in there}
        number = rows.model(db, model, dim)
        if number is None:
            return DenseIndex.empty(dim)
        held = self._dense.get(number, _Dense(DenseIndex.empty(dim)))
        index = _newer(db, number, dim, held) if held.seen < stamp else held.index
        if len(index.ids) > dense_index.MAX_RESIDENT_VECTORS:  # it may have grown beyond while it was held
            index = replace(index, data=None)
        elif exact and held.asked and index.data is None:
            index = replace(index, data=rows.whole(db, number, dim, index.ids)[1])
        self._dense[number] = _Dense(index, stamp, held.asked or exact)
        return index

    def units(self, db: sqlite3.Connection, model: str, dim: int) -> UnitVectors | None:
        """A model's vectors of units as the file has them; None where they are more than are held."""
        stamp = self._stamp(db)
        there = {number for (number,) in db.execute("SELECT number FROM model")}
        self._units = {number: held for number, held in self._units.items() if number in there}
        number = rows.model(db, model, dim)
        if number is None:
            return UnitVectors.empty(dim)
        held, seen = self._units.get(number, (None, -1))
        if seen < stamp:
            counts = unit_vectors.counts(db, number)
            few = sum(counts.values()) <= dense_index.MAX_RESIDENT_VECTORS
            held = (held or UnitVectors.empty(dim)).newer(db, number, counts) if few else None
            self._units[number] = held, stamp
        return held

    def _stamp(self, db: sqlite3.Connection) -> int:
        made, stamp = db.execute("SELECT created_at, stamp FROM bank").fetchone()
        if made != self._made or stamp < self._stamped:  # a lower one: an older copy was written over the file
            self.clear()
            self._made = made
        self._stamped = stamp
        return int(stamp)


def _newer(db: sqlite3.Connection, model: int, dim: int, held: _Dense) -> DenseIndex:
    index = held.index
    splices, codes = column_blocks.changes_since(db, model, column_blocks.code(dim), index.ids, held.seen)
    ids = codes["seq"].astype(np.int64)
    data = None if index.data is None else rows.whole(db, model, dim, ids)[1]
    return index.newer(splices, DenseIndex(ids, dense_index.columns(codes["code"]), data))
