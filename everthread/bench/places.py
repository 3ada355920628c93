"""Measures a store of several places: what recall takes beside the places themselves, and how long moves take.

A writer waits at most as long as a move, which locks the bank from its beginning to its end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.load import open_temporary_bank
from everthread.bench.network_delay import WARM_UP
from everthread.bench.speed import OBSERVED_LINES, QUERY_COUNT, Timing, store_synthetic_lines
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.placed.store import PlacedStore
from everthread.transfer.copy_bank import copy_bank
from everthread.transfer.moving import move_bank


@dataclass(frozen=True, slots=True)
class PlaceTimings:
    """The figures of one place: recall from it and through the store of all places, and the move to the next place."""

    place: str
    direct: Timing
    placed: Timing
    next: str
    move_s: float


@dataclass(frozen=True, slots=True)
class PlacesResult:
    """The figures of all places, and the seconds of a copy into a folder with every line embedded again."""

    lines: int
    places: tuple[PlaceTimings, ...]
    embedded_s: float

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Return the figures as text."""
        thousands = self.lines / 1000
        rows = [
            f"recall in a bank of {self.lines:,} lines, p50 in ms without embedding, and seconds to move 1,000 of them"
        ]
        for each in self.places:
            ratio = each.placed.p50 / each.direct.p50
            recall = f"direct {each.direct.p50:.2f}, in places {each.placed.p50:.2f} ({ratio:.2f} x)"
            rows.append(f"  {each.place:<16} {recall}; move to {each.next}: {each.move_s / thousands:.2f}")
        return "\n".join([*rows, f"  embedded again by a copy into a folder: {self.embedded_s / thousands:.2f}"])


def measure_places(path: Path, lines: int, embedder: Embedder | str | None = None) -> PlacesResult:
    """Measure a new bank in each of the places, which is deleted afterwards.

    Args:
        path: the file of places, at least two.
        lines: lines of the bank.
        embedder: the embedder or its name; default: the configured one.

    Raises:
        BadInput: there are too few places or lines.
    """
    store = factory.open_store(path)
    if not isinstance(store, PlacedStore) or len(store.file.places) < 2 or lines < 1:
        raise BadInput(f"expected a file of at least two places and a positive number of lines, got {path} and {lines}")
    model = factory.open_embedder(embedder)
    with closing(store), open_temporary_bank(store, BulkEmbedder(model)) as bank:
        store_synthetic_lines(bank, lines)
        names = [*store.file.places]
        move_bank(store, bank.bank, names[0])
        timings = [
            _measure_place(bank, store, one, other) for one, other in zip(names, [*names[1:], names[0]], strict=True)
        ]
        return PlacesResult(lines, tuple(timings), _time_copy(bank, model))


def _measure_place(bank: Memory, store: PlacedStore, place: str, following: str) -> PlaceTimings:
    lines = bank.stats().lines
    queries = synthetic.queries(QUERY_COUNT, skip=lines + OBSERVED_LINES)
    alone = Memory(bank.bank, store.get_place(place).store, bank.embedder, bank.recipe)
    direct, placed = _time_recalls(alone, bank, queries)
    started_at = time.perf_counter()
    move_bank(store, bank.bank, following)
    return PlaceTimings(place, direct, placed, following, time.perf_counter() - started_at)


def _time_recalls(alone: Memory, bank: Memory, queries: Sequence[str]) -> tuple[Timing, Timing]:
    """Return the times of recalls from a place, and of the same through the store of all places.

    Each query is asked before, so that its vector is known, and then of both, of either first in turn.
    """
    times: dict[int, list[float]] = {id(alone): [], id(bank): []}
    for number, query in enumerate([*queries[:WARM_UP], *queries]):
        alone.recall(query)
        for memory in (alone, bank) if number % 2 else (bank, alone):
            started_at = time.perf_counter()
            memory.recall(query)
            times[id(memory)].append(1000 * (time.perf_counter() - started_at))
    direct, placed = (Timing.from_times(times[id(memory)][WARM_UP:]) for memory in (alone, bank))
    return direct, placed


def _time_copy(bank: Memory, embedder: Embedder) -> float:
    """Return the seconds of a copy into a folder, for which this embedder embeds every line."""
    with TemporaryDirectory(prefix="everthread-places-") as folder, closing(factory.open_store(folder)) as store:
        started_at = time.perf_counter()
        copy_bank(bank, Memory(bank.bank, store, embedder, bank.recipe))
        return time.perf_counter() - started_at
