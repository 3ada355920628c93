"""Compares the speed of two stores, and measures a store under the load of many clients.

`compare_stores` measures a folder and a Postgres database in one run, so that their ratio is meaningful on a noisy
machine. `run_load` starts many clients that use many banks at once.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.metrics import percentile
from everthread.bench.speed import OBSERVED_LINES, QUERY_COUNT, Timing, store_synthetic_lines, time_calls
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, EverthreadError
from everthread.memory import Memory
from everthread.stores.base import Store

SAMPLE_LINES = 1024  # lines imported with the real model
INITIAL_LINES = 40  # lines of each bank before the load begins
SEARCHES = ["zzyzx"] * 10  # a word of no line, so that all are read
RECALL_SHARE = 0.5  # share of a client's calls that recall; the others observe

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


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The measurements of many clients. Times are milliseconds a call, including its wait for the processor."""

    clients: int
    banks: int
    seconds: float
    calls: int
    errors: tuple[str, ...]
    observe: Timing
    recall: Timing
    observe_p99: float
    recall_p99: float

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "rate": round(self.rate, 1)}

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        rows = [
            f"{self.clients} clients on {self.banks:,} banks for {self.seconds:.0f} s: {self.calls:,} calls, "
            f"{self.rate:.0f} a second, {len(self.errors)} errors"
        ]
        for name, times, p99 in (("observe", self.observe, self.observe_p99), ("recall", self.recall, self.recall_p99)):
            rows.append(
                f"{name:8} p50 {times.p50:.1f} ms, p95 {times.p95:.1f} ms, p99 {p99:.1f} ms, {times.calls:,} calls"
            )
        return "\n".join([*rows, *sorted(set(self.errors))])


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


def run_load(
    store: Store,
    *,
    clients: int = 200,
    banks: int = 2000,
    seconds: float = 60.0,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> LoadResult:
    """Recall and observe in many banks from many threads at once.

    The banks "load 0", "load 1" … are not deleted, so that a second run starts at once.

    Args:
        store: the store to measure.
        clients: number of threads.
        banks: number of banks.
        seconds: duration of the load.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for a number that is not positive.
    """
    if min(clients, banks) < 1 or seconds <= 0:
        raise BadInput(f"clients, banks and seconds must be positive, got {clients}, {banks}, {seconds}")
    bulk = BulkEmbedder(factory.open_embedder(embedder))
    progress(f"filling {banks:,} banks")
    recipe = factory.open_recipe("default")
    memories = [Memory(f"load {n}", store, bulk, recipe) for n in range(banks)]
    for number, memory in enumerate(memories):
        memory.observe_many(synthetic.lines(INITIAL_LINES, skip=INITIAL_LINES * number))  # stored once, by their keys
    progress(f"{clients} clients for {seconds:.0f} s")
    threads = [_Client(number, memories, time.perf_counter() + seconds) for number in range(clients)]
    started_at = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed_s = time.perf_counter() - started_at
    observed, recalled = ([ms for thread in threads for ms in thread.times[kind]] for kind in ("observe", "recall"))
    return LoadResult(
        clients=clients,
        banks=banks,
        seconds=elapsed_s,
        calls=len(observed) + len(recalled),
        errors=tuple(error for thread in threads for error in thread.errors),
        observe=Timing.from_times(observed),
        recall=Timing.from_times(recalled),
        observe_p99=percentile(observed, 99),
        recall_p99=percentile(recalled, 99),
    )


class _Client(threading.Thread):
    """Recalls or observes in one bank after another until the end."""

    def __init__(self, number: int, memories: Sequence[Memory], end: float) -> None:
        super().__init__(name=f"client {number}")
        self.times: dict[str, list[float]] = {"observe": [], "recall": []}
        self.errors: list[str] = []
        self._random, self._memories, self._end = random.Random(number), memories, end
        self._queries = synthetic.queries(50, skip=INITIAL_LINES * len(memories), seed=number)

    def run(self) -> None:
        while (started_at := time.perf_counter()) < self._end:
            memory, text = self._random.choice(self._memories), self._random.choice(self._queries)
            kind = "recall" if self._random.random() < RECALL_SHARE else "observe"
            try:
                memory.recall(text) if kind == "recall" else memory.observe(text, speaker=self.name)
            except EverthreadError as error:
                self.errors.append(str(error))
            self.times[kind].append(1000 * (time.perf_counter() - started_at))
