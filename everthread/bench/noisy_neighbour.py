"""Measures whether a large bank delays the queries to small banks in the same store."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.speed import QUERY_COUNT, Timing, time_calls
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.base import Store

SMALL_BANK_LINES = 100  # lines of each small bank
SMALL_QUERY_COUNT = 4 * QUERY_COUNT  # questions to small banks, each to a random one
CHUNK_LINES = 10_000  # lines given to the large bank at once

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class NoisyNeighbourResult:
    """The times of recall in small banks and in the large one.

    Small banks are measured before the large one is filled, afterwards, and while it is queried without a pause.
    """

    banks: int
    lines: int
    before: Timing
    after: Timing
    during: Timing
    large: Timing

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        small = f"recall in {self.banks:,} banks of {SMALL_BANK_LINES} lines"
        rows = [
            (small, self.before),
            (f"{small}, next to one of {self.lines:,}", self.after),
            (f"{small}, while that one is queried", self.during),
            (f"recall in the bank of {self.lines:,} lines", self.large),
        ]
        return "\n".join(f"{name:70} p50 {time.p50:6.1f} ms, p95 {time.p95:6.1f} ms" for name, time in rows)


def measure_noisy_neighbour(
    store: Store,
    *,
    banks: int = 10_000,
    lines: int = 1_000_000,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> NoisyNeighbourResult:
    """Measure recall in small banks without and with a large one.

    The banks "small 0", "small 1" … and "large" are not deleted, so that an interrupted run can be resumed.

    Args:
        store: the store to measure.
        banks: number of small banks.
        lines: lines of the large bank.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for no small bank, or a large bank of fewer than CHUNK_LINES lines.
    """
    if banks < 1 or lines < CHUNK_LINES:
        raise BadInput(f"banks must be positive and lines at least {CHUNK_LINES:,}, got {banks} and {lines}")
    bulk, recipe = BulkEmbedder(factory.open_embedder(embedder)), factory.open_recipe("default")
    for number in range(banks):
        _fill(store, f"small {number}", SMALL_BANK_LINES, SMALL_BANK_LINES * number, bulk)
        if number % 1000 == 0:
            progress(f"{number:,} of {banks:,} small banks")
    numbers = random.Random(0).choices(range(banks), k=SMALL_QUERY_COUNT)
    small = [Memory(f"small {number}", store, bulk, recipe) for number in numbers]
    small_queries = list(zip(small, synthetic.queries(SMALL_QUERY_COUNT, skip=SMALL_BANK_LINES * banks), strict=True))
    before = _time_recalls(small_queries)
    for size in range(CHUNK_LINES, lines + 1, CHUNK_LINES):
        _fill(store, "large", size, 0, bulk)
        progress(f"{size:,} of {lines:,} lines of the large bank")
    memory = Memory("large", store, bulk, recipe)
    large_queries = [(memory, query) for query in synthetic.queries(QUERY_COUNT, skip=lines)]
    after = _time_recalls(small_queries)
    large = _time_recalls(large_queries)
    end = threading.Event()
    thread = threading.Thread(target=_recall_until, args=(end, large_queries))
    thread.start()
    during = _time_recalls(small_queries)
    end.set()
    thread.join()
    return NoisyNeighbourResult(banks, lines, before, after, during, large)


def _fill(store: Store, bank: str, size: int, skip: int, embedder: Embedder) -> None:
    """Fill the bank up to `size` lines, without the first `skip` synthetic lines."""
    memory = Memory(bank, store, embedder, factory.open_recipe("default"))
    stored = store.corpus_stats(bank).lines
    if stored < size:
        memory.observe_many(synthetic.lines(size - stored, skip=skip + stored))


def _time_recalls(queries: list[tuple[Memory, str]]) -> Timing:
    for memory, query in queries[:5]:
        memory.recall(query)
    return time_calls(lambda pair: pair[0].recall(pair[1]), queries)


def _recall_until(end: threading.Event, queries: list[tuple[Memory, str]]) -> None:
    while not end.is_set():
        for memory, query in queries:
            memory.recall(query)
            if end.is_set():
                return
