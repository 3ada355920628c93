"""A store of your own: banks in SQLite files, with an additional index of your choice that searches their vectors.

`RemoteIndex` below has the three calls of hosted indexes (Pinecone: upsert, delete, query by namespace) and stores
everything in memory; replace it by a client, or by FAISS. Lines, words, filters and exact cosines stay in SQLite, so
the results are those of the shipped store, as long as the index finds the same neighbours.

Such an index has no transactions: lines and vectors go to the file first, and `memory.reindex()` adds missing ones.

    python examples/own_index.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from everthread import Line, Memory, Receipt
from everthread.stores.base import PreparedLine, Scope, ScopeName
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import LineTokens, Seqs, Vector, Vectors


class RemoteIndex:
    """A vector index like a hosted one: vectors by id, in namespaces; a query returns the ids of the nearest."""

    def __init__(self) -> None:
        self.spaces: dict[str, dict[str, Vector]] = {}

    def upsert(self, namespace: str, vectors: Mapping[str, Vector]) -> None:
        self.spaces.setdefault(namespace, {}).update(vectors)

    def delete(self, namespace: str, ids: Sequence[str] | None = None) -> None:
        """Delete these ids; None deletes the whole namespace."""
        if ids is None:
            self.spaces.pop(namespace, None)
        for id in ids or ():
            self.spaces.get(namespace, {}).pop(id, None)

    def query(self, namespace: str, vector: Vector, top_k: int) -> list[str]:
        vectors = self.spaces.get(namespace, {})
        if not vectors:
            return []
        cosines = np.stack(list(vectors.values())) @ vector
        return [list(vectors)[index] for index in np.argsort(-cosines, kind="stable")[:top_k]]


class IndexedStore(SQLiteStore):
    """SQLite files whose vectors are searched elsewhere. A namespace is a bank; an id is "model/line/piece"."""

    def __init__(self, place: str | Path, index: RemoteIndex) -> None:
        super().__init__(place)
        self.index = index

    # --------------------------------------------------------------------- writing

    def append(
        self, bank: str, entries: Sequence[PreparedLine], model: str, *, replaces: Sequence[int] = (), **options: Any
    ) -> list[Line]:
        lines = super().append(bank, entries, model, replaces=replaces, **options)
        self._remove_from_index(bank, replaces)
        for line, entry in zip(lines, entries, strict=True):
            if entry.vectors is not None and line.retracted_at is None:
                self._add_to_index(bank, model, line.seq, entry.vectors)
        return lines

    def put_vectors(
        self,
        bank: str,
        model: str,
        vectors: Mapping[int, Vectors],
        expected: Sequence[Line],
        tokens: Mapping[int, LineTokens] | None = None,
    ) -> None:
        super().put_vectors(bank, model, vectors, expected, tokens or {})
        # Lines may have been forgotten meanwhile, or the bank, which `get` would create again.
        for line in self.get(bank, sorted(vectors)) if self.exists(bank) else ():
            self._add_to_index(bank, model, line.seq, vectors[line.seq])

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        line = super().retract(bank, seq, at)
        self._remove_from_index(bank, [seq])
        return line

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        receipt = super().forget(bank, scope, name, at)
        if scope == "bank":
            self.index.delete(bank)
        else:
            self._remove_from_index(bank, [seq for first, last in receipt.seqs for seq in range(first, last + 1)])
        return receipt

    def drop_vectors(self, bank: str, keep: str) -> int:
        other = [id for id in self._list_indexed(bank) if not id.startswith(f"{keep}/")]
        self.index.delete(bank, other)
        return super().drop_vectors(bank, keep)

    # ------------------------------------------------------------------- searching

    def nearest_seqs(self, bank: str, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs:
        """Ask the index for candidates; `cosines` then scores them exactly."""
        limit, seqs = k, set[int]()
        allowed = None if within is None else set(within.tolist())
        while len(seqs) < k:  # the index can't filter, so ask for more
            ids = [id for row in np.atleast_2d(query) for id in self.index.query(bank, row, limit)]
            seqs = {int(id.split("/")[-2]) for id in ids if id.startswith(f"{model}/")}
            seqs = seqs if allowed is None else seqs & allowed
            if limit >= len(self._list_indexed(bank)):
                break
            limit *= 2
        return np.array(sorted(seqs), np.int64)

    # --------------------------------------------------------------------- the index

    def _add_to_index(self, bank: str, model: str, seq: int, vectors: Vectors) -> None:
        rows = vectors.reshape(-1, vectors.shape[-1])
        self.index.upsert(bank, {f"{model}/{seq}/{piece}": row for piece, row in enumerate(rows)})

    def _remove_from_index(self, bank: str, seqs: Sequence[int]) -> None:
        removed = set(seqs)
        self.index.delete(bank, [id for id in self._list_indexed(bank) if int(id.split("/")[-2]) in removed])

    def _list_indexed(self, bank: str) -> list[str]:
        return list(self.index.spaces.get(bank, ()))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = IndexedStore(folder, RemoteIndex())
        with Memory.open("alice", store=store) as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            memory.observe("The invoice is overdue, I fear.", speaker="Alice")
            memory.observe("Mia found a flat with a view of the river.", speaker="Alice")
            memory.retract(2)
            print(memory.context("Where does Mia live?").text)
            print(f"\n{len(store.index.spaces['alice'])} vectors in the index")
        store.close()


if __name__ == "__main__":
    main()
