"""The vectors of a bank's units in memory, searched exhaustively.

Rows are written with the stamp of their change and never updated, so the number of rows under each stamp shows whether
some have been removed since.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.stores import dense_index
from everthread.stores.arrays import append_rows
from everthread.stores.sqlite import column_blocks
from everthread.stores.sqlite import rows as bank_rows
from everthread.stores.unit_store import UnitCosines, UnitKey
from everthread.types import Vector, Vectors

REMOVED_KIND = -1
COMPACTION_RATIO = 4  # rows are compacted once more than one in four is removed
ROW_DTYPE = np.dtype([("stamp", "<i8"), ("kind", "<i8"), ("id", "<i8")])


@dataclass(frozen=True, slots=True, eq=False)
class UnitVectors:
    """An immutable snapshot of a model's unit vectors, one row per piece: safe to read while the next one is built.

    The pieces of a unit are adjacent; otherwise rows have no order. New rows are appended without copying the others,
    and removed rows stay for a while, marked `REMOVED_KIND`.
    """

    rows: npt.NDArray[np.void]  # (N,) of ROW_DTYPE; kind is an index into kinds, or REMOVED_KIND
    data: npt.NDArray[np.float16]  # (N, D)
    kinds: tuple[str, ...] = ()

    @classmethod
    def empty(cls, dim: int) -> UnitVectors:
        """Return a snapshot without units."""
        return cls(np.empty(0, ROW_DTYPE), np.empty((0, dim), np.float16))

    @classmethod
    def read(cls, db: sqlite3.Connection, model: int | None, dim: int, kinds: Sequence[str] = ()) -> UnitVectors:
        """Read the vectors of units of these kinds; of all kinds if `kinds` is empty."""
        chosen = "model = ? AND (? OR kind IN (SELECT value FROM json_each(?)))"
        return cls.empty(dim)._append_rows(db, chosen, (model, not kinds, json.dumps(list(kinds))))

    def refresh(self, db: sqlite3.Connection, model: int, stored: Mapping[int, int]) -> UnitVectors:
        """Return the current snapshot. Only the newest snapshot may be refreshed.

        Args:
            db: a connection in a transaction.
            model: the number of the model.
            stored: stamp -> number of rows in the file.
        """
        stamps = self.rows["stamp"][self.rows["kind"] != REMOVED_KIND]
        found, counts = np.unique(stamps, return_counts=True)
        cached = dict(zip(found.tolist(), counts.tolist(), strict=True))
        changed = sorted(stamp for stamp in stored.keys() | cached.keys() if stored.get(stamp) != cached.get(stamp))
        if not changed:
            return self
        if not cached:
            return UnitVectors.read(db, model, self.data.shape[1])
        chosen = "model = ? AND stamp IN (SELECT value FROM json_each(?))"
        return self._drop_stamps(changed)._append_rows(
            db, chosen, (model, json.dumps(changed)), "INDEXED BY unit_vector_stamp"
        )

    def _drop_stamps(self, stamps: Collection[int]) -> UnitVectors:
        rows = self.rows.copy()
        rows["kind"][np.isin(rows["stamp"], list(stamps))] = REMOVED_KIND
        remaining = rows["kind"] != REMOVED_KIND
        if remaining.sum() * COMPACTION_RATIO < len(remaining) * (COMPACTION_RATIO - 1):
            return UnitVectors(rows[remaining], self.data[remaining], self.kinds)
        return UnitVectors(rows, self.data, self.kinds)

    def _append_rows(
        self, db: sqlite3.Connection, condition: str, values: tuple[object, ...], index: str = ""
    ) -> UnitVectors:
        added = db.execute(
            f"""SELECT kind, stamp, unit_id, data FROM unit_vector {index} WHERE {condition}
                ORDER BY kind, unit_id, ordinal""",
            values,
        ).fetchall()
        kinds = tuple(dict.fromkeys([*self.kinds, *(kind for kind, *_ in added)]))
        kind_index = {kind: n for n, kind in enumerate(kinds)}
        rows = np.array([(stamp, kind_index[kind], number) for kind, stamp, number, _ in added], ROW_DTYPE)
        data = np.frombuffer(b"".join(row for *_, row in added), np.float16).reshape(-1, self.data.shape[1])
        return UnitVectors(np.concatenate([self.rows, rows]), append_rows(self.data, data), kinds)

    def nearest(self, query: Vector, kinds: Sequence[str], k: int | None) -> UnitCosines:
        """Compute the cosine of the nearest piece of each unit to the query.

        Args:
            query: (D,) or (Q, D); the nearest of several counts.
            kinds: only units of these kinds; empty for all.
            k: only the k nearest units; ties are broken by kind and id.
        """
        wanted = [n for n, kind in enumerate(self.kinds) if not kinds or kind in kinds]
        places = np.flatnonzero(np.isin(self.rows["kind"], wanted))
        if not len(places):
            return []
        if 2 * len(places) > len(self.rows):  # comparing the others as well is faster than copying these
            values = dense_index.cosines(self.data, query)[places]
        else:
            values = dense_index.cosines(self.data[places], query)
        kind, number = self.rows["kind"][places], self.rows["id"][places]
        starts = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (number[1:] != number[:-1])))
        values = np.maximum.reduceat(values, starts)
        kind, number = np.argsort(np.argsort(self.kinds))[kind[starts]], number[starts]
        chosen = np.arange(len(values))
        if k is not None and k < len(values):
            chosen = np.flatnonzero(values >= np.partition(values, -k)[-k])
            chosen = chosen[np.lexsort((number[chosen], kind[chosen], -values[chosen]))[:k]]
        chosen = chosen[np.lexsort((number[chosen], kind[chosen]))]
        names = np.array(sorted(self.kinds), object)[kind[chosen]].tolist()
        return list(zip(names, number[chosen].tolist(), values[chosen].tolist(), strict=True))


def count_by_stamp(db: sqlite3.Connection, model: int) -> dict[int, int]:
    """Return the number of a model's rows by stamp."""
    return dict(db.execute("SELECT stamp, count(*) FROM unit_vector WHERE model = ? GROUP BY stamp", (model,)))


def put(db: sqlite3.Connection, model: str, by_unit: Mapping[UnitKey, Vectors]) -> None:
    """Store the vectors of units, replacing their vectors of the same model."""
    if not by_unit:
        return
    stamp = column_blocks.next_stamp(db)
    for (kind, number), data in by_unit.items():
        model_number = bank_rows.get_or_create_model(db, model, data.shape[1])
        db.execute("DELETE FROM unit_vector WHERE model = ? AND kind = ? AND unit_id = ?", (model_number, kind, number))
        db.executemany(
            "INSERT INTO unit_vector (model, kind, unit_id, ordinal, data, stamp) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (model_number, kind, number, piece, row.tobytes(), stamp)
                for piece, row in enumerate(data.astype(np.float16))
            ],
        )
