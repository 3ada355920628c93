"""A large bank next to many small ones: whether queries to some banks are delayed by the size of another."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.speed import QUERY_COUNT, BulkEmbedder, Timing, time_calls
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.base import Store

SMALL_BANK_LINES = 100  # lines of each small bank
SMALL_QUERY_COUNT = 4 * QUERY_COUNT  # questions to small banks, each to another one
CHUNK_LINES = 10_000  # lines given to the large bank at once

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class NoisyNeighbourResult:
    """Recall in small banks: before the large one is filled, afterwards, and while the large one is queried without a
    pause."""

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
            (f"{small}, beside one of {self.lines:,}", self.after),
            (f"{small}, while that one is asked", self.during),
            (f"recall in the bank of {self.lines:,} lines", self.large),
        ]
        return "\n".join(f"{name:70} p50 {time.p50:6.1f} ms, p95 {time.p95:6.1f} ms" for name, time in rows)


def measure_noisy_neighbour(
    store: Store,
    *,
    banks: int = 10_000,
    lines: int = 1_000_000,
    embedder: str | None = None,
    progress: Progress | None = None,
) -> NoisyNeighbourResult:
    """Measure recall in small banks without and with a large one.

    The banks remain, "small 0" and so on and "large", so that an interrupted run continues. Raises BadInput.
    """
    if banks < 1 or lines < CHUNK_LINES:
        raise BadInput(f"banks must be positive and lines at least {CHUNK_LINES:,}, got {banks} and {lines}")
    tell = progress or (lambda _: None)
    bulk, recipe = BulkEmbedder(factory.open_embedder(embedder)), factory.open_recipe("default")
    for number in range(banks):
        _fill(store, f"small {number}", SMALL_BANK_LINES, SMALL_BANK_LINES * number, bulk)
        if number % 1000 == 0:
            tell(f"{number:,} of {banks:,} small banks")
    chance = random.Random(0)
    small = [Memory(f"small {n}", store, bulk, recipe) for n in chance.choices(range(banks), k=SMALL_QUERY_COUNT)]
    asked = list(zip(small, synthetic.queries(SMALL_QUERY_COUNT, skip=SMALL_BANK_LINES * banks), strict=True))
    before = _time_recalls(asked)
    for size in range(CHUNK_LINES, lines + 1, CHUNK_LINES):
        _fill(store, "large", size, 0, bulk)
        tell(f"{size:,} of {lines:,} lines of the large bank")
    large = [(Memory("large", store, bulk, recipe), query) for query in synthetic.queries(QUERY_COUNT, skip=lines)]
    after = _time_recalls(asked)
    alone = _time_recalls(large)
    end = threading.Event()
    busy = threading.Thread(target=_without_pause, args=(large, end))
    busy.start()
    during = _time_recalls(asked)
    end.set()
    busy.join()
    return NoisyNeighbourResult(banks, lines, before, after, during, alone)


def _fill(store: Store, bank: str, size: int, behind: int, embedder: Embedder) -> None:
    """Fill the bank up to `size` lines."""
    memory = Memory(bank, store, embedder, factory.open_recipe("default"))
    have = store.corpus_stats(bank).lines
    if have < size:
        memory.observe_many(synthetic.lines(size - have, skip=behind + have))


def _time_recalls(asked: list[tuple[Memory, str]]) -> Timing:
    for memory, query in asked[:5]:
        memory.recall(query)
    return time_calls(lambda each: each[0].recall(each[1]), asked)


def _without_pause(asked: list[tuple[Memory, str]], end: threading.Event) -> None:
    while not end.is_set():
        for memory, query in asked:
            memory.recall(query)
            if end.is_set():
                return
