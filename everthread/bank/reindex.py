"""Vectors made anew, of a model that a bank was not written with: of its lines, then of its units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice

from everthread.embedders.onnx import Embedder
from everthread.embedders.shapes import question
from everthread.recall.unit_search import embedded
from everthread.stores.base import Store
from everthread.text.analyzer import without_quotes
from everthread.types import Role, Vectors


def reindex(
    store: Store,
    bank: str,
    embedder: Embedder,
    vectors: Callable[[Sequence[str]], list[Vectors]],
    batch: int,
    progress: Callable[[int], None] | None,
    roles: Collection[Role],
) -> int:
    """Give every unit, and every line of these roles, that has none a vector of the model, and drop those of others.

    Args:
        store: where the bank is.
        bank: the bank's id.
        embedder: the present model.
        vectors: returns the vectors of the pieces of each text.
        batch: lines, or units, that are embedded and written together.
        progress: called with the number of lines that are done.
        roles: those whose lines are embedded.

    Returns:
        The number of lines that were embedded.

    Raises:
        ModelError: with what is done kept.
    """
    done, last, dim = 0, 0, question(embedder, "hello").shape[-1]
    while lines := store.lines_without_vectors(bank, embedder.name, dim, batch, last, roles):
        made = vectors([without_quotes(line.text, line.metadata) for line in lines])
        store.put_vectors(bank, embedder.name, {line.seq: each for line, each in zip(lines, made, strict=True)}, lines)
        done, last = done + len(lines), lines[-1].seq
        if progress is not None:
            progress(done)
    wanting = iter(store.pending_units(bank, embedder.name, dim))
    while units := list(islice(wanting, batch)):
        made = vectors([embedded(unit) for unit in units])
        by_unit = {(unit.kind, unit.id): each for unit, each in zip(units, made, strict=True)}
        store.put_unit_vectors(bank, embedder.name, by_unit)
    store.drop_vectors(bank, keep=embedder.name)
    return done
