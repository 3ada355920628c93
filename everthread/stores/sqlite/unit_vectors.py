"""The vectors of a bank's units in memory: which units lie nearest to a question, all compared.

Rows are put under the stamp of their change and stay as they were put, so that of each stamp their number tells whether
some have gone since.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import appended
from everthread.stores.base import UnitCosines, UnitKey
from everthread.stores.sqlite import column_blocks, dense_index
from everthread.stores.sqlite import rows as records
from everthread.types import Vector, Vectors

GONE = -1
MOST_GONE = 4  # where more than one in so many rows has gone, the others are copied
ROW = np.dtype([("stamp", "<i8"), ("kind", "<i8"), ("id", "<i8")])


@dataclass(frozen=True, slots=True, eq=False)
class UnitVectors:
    """A picture of a model's vectors of units, a row a piece: safe to read while the next one is made.

    The pieces of a unit stand together; otherwise the rows stand in no order: new ones are put behind the others, of
    which none is copied, and what has gone stays for a while, as GONE.
    """

    rows: npt.NDArray[np.void]  # (N,) of ROW; the kind is its place among kinds, or GONE
    data: npt.NDArray[np.float16]  # (N, D)
    kinds: tuple[str, ...] = ()

    @classmethod
    def empty(cls, dim: int) -> UnitVectors:
        """Those of no unit."""
        return cls(np.empty(0, ROW), np.empty((0, dim), np.float16))

    @classmethod
    def read(cls, db: sqlite3.Connection, model: int | None, dim: int, kinds: Sequence[str] = ()) -> UnitVectors:
        """Those of units of these kinds (all, where none is named) as the file has them."""
        chosen = "model = ? AND (? OR kind IN (SELECT value FROM json_each(?)))"
        return cls.empty(dim)._with(db, chosen, (model, not kinds, json.dumps(list(kinds))))

    def newer(self, db: sqlite3.Connection, model: int, there: Mapping[int, int]) -> UnitVectors:
        """The picture of what the file has now, which is so many rows of each stamp. Only the newest may be made
        newer."""
        stamps = self.rows["stamp"][self.rows["kind"] != GONE]
        held = dict(zip(*(each.tolist() for each in np.unique(stamps, return_counts=True)), strict=True))
        changed = sorted(stamp for stamp in there.keys() | held.keys() if there.get(stamp) != held.get(stamp))
        if not changed:
            return self
        if not held:
            return UnitVectors.read(db, model, self.data.shape[1])
        chosen = "model = ? AND stamp IN (SELECT value FROM json_each(?))"
        return self._without(changed)._with(db, chosen, (model, json.dumps(changed)), "INDEXED BY unit_vector_stamp")

    def _without(self, stamps: Collection[int]) -> UnitVectors:
        rows = self.rows.copy()
        rows["kind"][np.isin(rows["stamp"], list(stamps))] = GONE
        left = rows["kind"] != GONE
        if left.sum() * MOST_GONE < len(left) * (MOST_GONE - 1):
            return UnitVectors(rows[left], self.data[left], self.kinds)
        return UnitVectors(rows, self.data, self.kinds)

    def _with(self, db: sqlite3.Connection, chosen: str, values: tuple[object, ...], index: str = "") -> UnitVectors:
        found = db.execute(
            f"""SELECT kind, stamp, unit_id, data FROM unit_vector {index} WHERE {chosen}
                ORDER BY kind, unit_id, ordinal""",
            values,
        ).fetchall()
        kinds = tuple(dict.fromkeys([*self.kinds, *(kind for kind, *_ in found)]))
        place = {kind: at for at, kind in enumerate(kinds)}
        rows = np.array([(stamp, place[kind], number) for kind, stamp, number, _ in found], ROW)
        data = np.frombuffer(b"".join(row for *_, row in found), np.float16).reshape(-1, self.data.shape[1])
        return UnitVectors(np.concatenate([self.rows, rows]), appended(self.data, data), kinds)

    def nearest(self, query: Vector, kinds: Sequence[str], k: int | None) -> UnitCosines:
        """The cosine of the nearest piece of each unit of these kinds (all, where none is named), or of the k nearest
        units alone; of equals those that come first by kind and id."""
        wanted = [at for at, kind in enumerate(self.kinds) if not kinds or kind in kinds]
        ours = np.flatnonzero(np.isin(self.rows["kind"], wanted))
        if not len(ours):
            return []
        many = 2 * len(ours) > len(self.rows)  # then it is quicker to compare the others, too, than to copy these
        values = dense_index.cosines(self.data, query)[ours] if many else dense_index.cosines(self.data[ours], query)
        kind, number = self.rows["kind"][ours], self.rows["id"][ours]
        begins = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (number[1:] != number[:-1])))
        values = np.maximum.reduceat(values, begins)
        kind, number = np.argsort(np.argsort(self.kinds))[kind[begins]], number[begins]
        chosen = np.arange(len(values))
        if k is not None and k < len(values):
            chosen = np.flatnonzero(values >= np.partition(values, -k)[-k])
            chosen = chosen[np.lexsort((number[chosen], kind[chosen], -values[chosen]))[:k]]
        chosen = chosen[np.lexsort((number[chosen], kind[chosen]))]
        names = np.array(sorted(self.kinds), object)[kind[chosen]].tolist()
        return list(zip(names, number[chosen].tolist(), values[chosen].tolist(), strict=True))


def counts(db: sqlite3.Connection, model: int) -> dict[int, int]:
    """How many rows of a model stand under each stamp."""
    return dict(db.execute("SELECT stamp, count(*) FROM unit_vector WHERE model = ? GROUP BY stamp", (model,)))


def put(db: sqlite3.Connection, model: str, by_unit: Mapping[UnitKey, Vectors]) -> None:
    """Keep the vectors of units, in place of those the model has for them."""
    if not by_unit:
        return
    at = column_blocks.stamp(db)
    for (kind, number), data in by_unit.items():
        of = records.number(db, model, data.shape[1])
        db.execute("DELETE FROM unit_vector WHERE model = ? AND kind = ? AND unit_id = ?", (of, kind, number))
        db.executemany(
            "INSERT INTO unit_vector (model, kind, unit_id, ordinal, data, stamp) VALUES (?, ?, ?, ?, ?, ?)",
            [(of, kind, number, piece, row.tobytes(), at) for piece, row in enumerate(data.astype(np.float16))],
        )
