"""Compares the speed of a folder and a Postgres database in one run.

Their ratio is so meaningful on a noisy machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.speed import OBSERVED_LINES, QUERY_COUNT, Timing, store_synthetic_lines, time_calls
from everthread.embedders.base import Embedder
from everthread.memory import Memory
from everthread.stores.base import Store

SAMPLE_LINES = 1024  # lines imported with the real model
SEARCHES = ["zzyzx"] * 10  # a word of no line, so that all are read

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StoreTimings:
    """The measurements of one store at one size. Rates are lines a second."""

    lines: int
    store: str
    observe: Timing
    recall: Timing
    search: Timing
    bulk_rate: float
    import_rate: float


def compare_stores(
    url: str,
    sizes: Sequence[int],
    *,
    embedder: Embedder | str | None = None,
    progress: Progress = lambda text: None,
) -> list[StoreTimings]:
    """Measure a folder and the database at each size. The banks are deleted afterwards, also after an interruption."""
    real = factory.open_embedder(embedder)
    timings = []
    with (
        tempfile.TemporaryDirectory(prefix="everthread-load-") as folder,
        closing(factory.open_store(Path(folder))) as sqlite,
        closing(factory.open_store(url)) as postgres,
    ):
        for size in sizes:
            for name, store in (("sqlite", sqlite), ("postgres", postgres)):
                progress(f"{size:,} lines: {name}")
                timings.append(_measure_store(name, store, size, real))
    return timings


def _measure_store(name: str, store: Store, size: int, real: Embedder) -> StoreTimings:
    with open_temporary_bank(store, BulkEmbedder(real)) as bank:
        bulk_rate = size / store_synthetic_lines(bank, size)
        queries = synthetic.queries(QUERY_COUNT, skip=size + OBSERVED_LINES)
        for query in queries[:5]:
            bank.recall(query)
        recall = time_calls(bank.recall, queries)
        search = time_calls(lambda text: list(bank.search(text)), SEARCHES)
        observe = time_calls(lambda line: bank.observe_many([line]), list(synthetic.lines(OBSERVED_LINES, skip=size)))
    with open_temporary_bank(store, real) as bank:
        import_rate = SAMPLE_LINES / store_synthetic_lines(bank, SAMPLE_LINES)
    return StoreTimings(size, name, observe, recall, search, bulk_rate, import_rate)


@contextmanager
def open_temporary_bank(store: Store, embedder: Embedder) -> Iterator[Memory]:
    """Yield a new bank, which is deleted afterwards, also after an interruption."""
    bank = Memory.open(f"everthread-bench/{uuid4().hex}", store=store, embedder=embedder)
    try:
        yield bank
    finally:
        bank.forget(everything=True)


def table(sides: Sequence[StoreTimings]) -> str:
    """Return the figures as text, with the ratio of the second store to the first."""
    rows = [
        f"{'lines':>9}  {'store':<9} {'observe ms':>15} {'recall ms':>15} {'search ms':>15} {'bulk':>7} {'import':>7}"
    ]
    for side in sides:
        times = (f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in (side.observe, side.recall, side.search))
        cells = " ".join(f"{cell:>15}" for cell in times)
        rows.append(f"{side.lines:>9,}  {side.store:<9} {cells} {side.bulk_rate:>7,.0f} {side.import_rate:>7,.0f}")
    for one, other in zip(sides[::2], sides[1::2], strict=True):
        pairs = ((other.observe, one.observe), (other.recall, one.recall), (other.search, one.search))
        ratios = (numerator.p50 / denominator.p50 for numerator, denominator in pairs)
        rates = (other.bulk_rate / one.bulk_rate, other.import_rate / one.import_rate)
        cells = " ".join(f"{f'{ratio:.2f} x':>15}" for ratio in ratios)
        rows.append(f"{one.lines:>9,}  {'ratio':<9} {cells} {rates[0]:>7.2f} {rates[1]:>7.2f}")
    return "\n".join(rows)
