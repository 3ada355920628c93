"""An index of chunk vectors, searched by exact scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from everthread.errors import BadInput
from everthread.types import Vectors


class VectorIndex:
    """Stores vectors by id, one or several per id, all of unit length and of one shape.

    The distance of a query with Q vectors to an id with E vectors is the least of the Q · E squared Euclidean
    distances: 2 − 2 cos, from 0 to 4.
    """

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)  # (N,), followed by spare capacity
        self._rows: Vectors = np.empty((0, 0, 0), np.float32)  # (N, E, D)
        self._slots: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Set the (N, E, D) vectors of ids."""
        if not len(ids):
            return
        if self._slots and vectors.shape[1:] != self._rows.shape[1:]:
            old, new = self._rows.shape[1:], vectors.shape[1:]
            raise BadInput(f"the embedder returned vectors of shape {new} after {old}; clear the memory first")
        self._make_room(len(self._slots) + len(ids), vectors.shape[1:])
        for id in ids:
            self._slots.setdefault(id, len(self._slots))
        slots = [self._slots[id] for id in ids]
        self._ids[slots], self._rows[slots] = ids, vectors

    def drop(self, ids: Iterable[int]) -> None:
        """Remove the vectors of ids; unknown ids are ignored."""
        for id in ids:
            if (slot := self._slots.pop(id, None)) is None:
                continue
            last = len(self._slots)
            if slot < last:  # the last entry fills the gap
                self._ids[slot], self._rows[slot] = self._ids[last], self._rows[last]
                self._slots[int(self._ids[slot])] = slot

    def search(self, query: Vectors) -> Iterable[tuple[int, float]]:
        """Order all ids by distance, equal ones by age.

        Args:
            query: (Q, D) vectors.

        Returns:
            Each id with its distance, the nearest first.
        """
        count, rows, dim = len(self._slots), *self._rows.shape[1:]
        if not count:
            return ()
        if query.shape[1] != dim:
            raise BadInput(f"the query has {query.shape[1]} dimensions, the texts {dim}; use the embedder of the texts")
        cosines = self._rows[:count].reshape(count * rows, dim) @ query.T  # (N · E, Q)
        best = cosines.reshape(count, -1).max(axis=1)  # (N,)
        distances = np.maximum(2.0 - 2.0 * best, 0.0)
        ids = self._ids[:count]
        order = np.lexsort((ids, distances))
        return zip(ids[order].tolist(), distances[order].tolist(), strict=True)

    def all(self) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Return the (N,) ids and their (N, E, D) vectors."""
        return self._ids[: len(self._slots)], self._rows[: len(self._slots)]

    def _make_room(self, wanted: int, shape: tuple[int, ...]) -> None:
        count = len(self._slots)
        if wanted <= len(self._ids) and count:
            return
        room = max(wanted, 2 * count)
        ids, rows = np.empty(room, np.int64), np.empty((room, *shape), np.float32)
        if count:
            ids[:count], rows[:count] = self._ids[:count], self._rows[:count]
        self._ids, self._rows = ids, rows
