"""Deferred embedding: pending lines, and reindexing with another model.

Deferred lines are stored and found by keyword at once; they are embedded a moment later, so that no reply waits for it.
Only their numbers are held in memory. If the process ends before they are embedded, the bank still records which
lines have no vector, and the next process that embeds deferred lines embeds these as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

from everthread.common.fork_safety import Lock
from everthread.common.keys import META_REWRITTEN
from everthread.embedders.base import Embedder
from everthread.embedders.shapes import embed_question
from everthread.stores.base import Store
from everthread.text.analyzer import remove_quotes
from everthread.types import ROLES, Line, NewUnit, Role, Unit, Vectors

BATCH_LINES = 512  # embedded at a time by embed_missing
MAX_BACKFILL_LINES = 32  # of earlier processes; `reindex` embeds more: the model is new, or was down for a long time


class EmbeddingBacklog:
    """The pending lines of one bank: those without a vector yet. Thread-safe."""

    def __init__(
        self,
        store: Store,
        bank: str,
        model: str,
        embed: Callable[[Sequence[str]], list[Vectors] | None],
        roles: Collection[Role] = ROLES,
    ) -> None:
        """Start without pending lines.

        Args:
            store: the store of the bank.
            bank: the bank's id.
            model: the embedder's name.
            embed: returns the vectors of the pieces of each text, or None while no embedder answers.
            roles: the roles whose lines are embedded.
        """
        self._store, self._bank, self._model, self._embed, self._roles = store, bank, model, embed, roles
        self._seqs: set[int] = set()
        self._checked_leftovers = False  # whether lines of earlier processes were embedded
        self._lock = Lock()
        self._embedding = Lock()  # held until the vectors of a batch are stored
        self._filling = Lock()  # the same, of `embed_missing`, for which no reply waits

    def __bool__(self) -> bool:
        return bool(self._seqs)

    def add(self, lines: Iterable[Line]) -> None:
        """Add lines of the embedded roles to the backlog."""
        with self._lock:
            self._seqs.update(line.seq for line in lines if line.text and line.role in self._roles)

    def has_pending(self, exclude: Collection[int] = ()) -> bool:
        """Return whether any line is pending that is not among these."""
        return not self._seqs.issubset(exclude)

    def embed_pending(self, exclude: Collection[int] = ()) -> None:
        """Embed the pending lines. If no embedder answers, they get no vectors and leave the backlog.

        Args:
            exclude: numbers of lines; if all pending lines are among them, nothing is done.

        Raises:
            StoreUnavailable: the vectors could not be stored; the lines stay pending.
        """
        if not self.has_pending(exclude):
            return
        with self._embedding:  # concurrent callers wait for the vectors
            with self._lock:
                seqs = self._seqs.difference(exclude)
            lines = self._store.get(self._bank, sorted(seqs)) if seqs and self._store.exists(self._bank) else []
            dim = self._embed_and_store(lines)
            with self._lock:
                self._seqs -= seqs
            # A write would create a forgotten bank again.
            if dim and not self._checked_leftovers and self._store.exists(self._bank):
                self._embed_and_store(self._read_leftovers(dim))
                self._checked_leftovers = True

    def discard(self, lines: Iterable[Line]) -> None:
        """Remove lines from the backlog. They stay without a vector until `embed_missing` or `reindex`."""
        with self._lock:
            self._seqs.difference_update(line.seq for line in lines)

    def embed_missing(self, progress: Callable[[int], None] | None = None) -> None:
        """Embed all lines of the bank without a vector, in batches. If no embedder answers, the others stay without.

        Concurrent callers take turns, and embed each line once.

        Args:
            progress: called with the number of lines of each batch.
        """
        probe, last = self._embed(["hello"]), 0
        dim = probe[0].shape[1] if probe else 0
        while dim and self._store.exists(self._bank):
            with self._filling:
                lines = self._store.lines_without_vectors(self._bank, self._model, dim, BATCH_LINES, last, self._roles)
                dim, last = self._embed_and_store(lines), lines[-1].seq if lines else last
            if dim and progress is not None:
                progress(len(lines))

    def _embed_and_store(self, lines: list[Line]) -> int:
        """Embed lines and store their vectors; return the dimension, or 0 if there are no vectors."""
        vectors = self._embed([remove_quotes(line.text, line.metadata) for line in lines]) if lines else None
        if not vectors:
            return 0
        by_seq = {line.seq: pieces for line, pieces in zip(lines, vectors, strict=True)}
        self._store.put_vectors(self._bank, self._model, by_seq, lines)  # skips lines that were forgotten meanwhile
        return int(vectors[0].shape[1])

    def _read_leftovers(self, dim: int) -> list[Line]:
        """Return the lines of earlier processes without a vector, if they are few."""
        if not 0 < self._store.stats(self._bank, self._model, self._roles).pending <= MAX_BACKFILL_LINES:
            return []
        lines = self._store.lines_without_vectors(self._bank, self._model, dim, MAX_BACKFILL_LINES, roles=self._roles)
        return [line for line in lines if line.seq not in self._seqs]


def embedding_text(unit: Unit | NewUnit) -> str:
    """Return the text by which a unit is embedded: its rewritten text if it has one, else its own."""
    rewritten = unit.metadata.get(META_REWRITTEN)
    return rewritten if isinstance(rewritten, str) and rewritten else unit.text


def reindex(
    store: Store,
    bank: str,
    embedder: Embedder,
    embed: Callable[[Sequence[str]], list[Vectors]],
    batch_size: int,
    progress: Callable[[int], None] | None,
    roles: Collection[Role],
) -> int:
    """Embed units and lines without a vector of this model; delete the vectors of other models.

    Args:
        store: the store of the bank.
        bank: its id.
        embedder: the model.
        embed: returns the vectors of the pieces of each text.
        batch_size: lines or units to embed at a time.
        progress: called with the number of lines embedded so far, after each batch.
        roles: the roles whose lines are embedded.

    Returns:
        The number of lines embedded.

    Raises:
        ModelError: the embedder failed; finished batches stay stored.
    """
    embedded, last, dim = 0, 0, embed_question(embedder, "hello").shape[-1]
    while lines := store.lines_without_vectors(bank, embedder.name, dim, batch_size, last, roles):
        vectors = embed([remove_quotes(line.text, line.metadata) for line in lines])
        by_seq = {line.seq: pieces for line, pieces in zip(lines, vectors, strict=True)}
        store.put_vectors(bank, embedder.name, by_seq, lines)
        embedded, last = embedded + len(lines), lines[-1].seq
        if progress is not None:
            progress(embedded)
    missing = iter(store.units_without_vectors(bank, embedder.name, dim))
    while units := list(islice(missing, batch_size)):
        vectors = embed([embedding_text(unit) for unit in units])
        by_unit = {(unit.kind, unit.id): pieces for unit, pieces in zip(units, vectors, strict=True)}
        store.put_unit_vectors(bank, embedder.name, by_unit)
    store.drop_vectors(bank, keep=embedder.name)
    return embedded
