"""Load on a store by many clients, and two stores compared: the cost of a database server, and its capacity.

`compare_stores` measures a folder and a Postgres database in one run, so that their ratio is meaningful on a noisy
machine. `run_load` lets many clients use many banks at once.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.metrics import percentile
from everthread.bench.speed import OBSERVED_LINES, QUERY_COUNT, BulkEmbedder, Timing, time_calls
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, EverthreadError
from everthread.memory import Memory
from everthread.stores.base import Store

SAMPLE_LINES = 1024  # lines imported with the real model
INITIAL_LINES = 40  # lines of each bank before the load begins
RECALL_SHARE = 0.5  # of a client's calls, how many ask; the others observe

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StoreTimings:
    """One store at one size. Rates are lines a second."""

    lines: int
    store: str
    observe: Timing
    recall: Timing
    bulk_rate: float
    import_rate: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Measurements of many clients. Times are milliseconds per call, with its wait for the processor."""

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
    url: str, sizes: Sequence[int], *, embedder: Embedder | str | None = None, progress: Progress | None = None
) -> list[StoreTimings]:
    """Measure a folder and the database at each size. The banks are deleted afterwards, also after an interruption."""
    real, tell = factory.open_embedder(embedder), progress or (lambda _: None)
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="everthread-load-") as folder,
        closing(factory.open_store(Path(folder))) as sqlite,
        closing(factory.open_store(url)) as postgres,
    ):
        for size in sizes:
            for name, store in (("sqlite", sqlite), ("postgres", postgres)):
                tell(f"{size:,} lines: {name}")
                found.append(_side(name, store, size, real))
    return found


def _side(name: str, store: Store, size: int, real: Embedder) -> StoreTimings:
    with _brief(store, BulkEmbedder(real)) as bank:
        lines = synthetic.lines(size)
        begun = time.perf_counter()
        while chunk := list(islice(lines, 10_000)):
            bank.observe_many(chunk)
        rate = size / (time.perf_counter() - begun)
        asked = synthetic.queries(QUERY_COUNT, skip=size + OBSERVED_LINES)
        for query in asked[:5]:
            bank.recall(query)
        recall = time_calls(bank.recall, asked)
        observe = time_calls(lambda line: bank.observe_many([line]), list(synthetic.lines(OBSERVED_LINES, skip=size)))
    with _brief(store, real) as sample:
        begun = time.perf_counter()
        sample.observe_many(synthetic.lines(SAMPLE_LINES))
        imported = SAMPLE_LINES / (time.perf_counter() - begun)
    return StoreTimings(size, name, observe, recall, rate, imported)


@contextmanager
def _brief(store: Store, embedder: Embedder) -> Iterator[Memory]:
    """Yield a bank of its own, deleted afterwards, also after an interruption."""
    bank = Memory.open(f"everthread-bench/{uuid4().hex}", store=store, embedder=embedder)
    try:
        yield bank
    finally:
        bank.forget(everything=True)


def table(sides: Sequence[StoreTimings]) -> str:
    """Return the figures as text, with the ratio of the second store to the first."""
    rows = [f"{'lines':>9}  {'store':<9} {'observe ms':>15} {'recall ms':>15} {'bulk':>7} {'import':>7}"]
    for side in sides:
        times = (f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in (side.observe, side.recall))
        cells = " ".join(f"{each:>15}" for each in times)
        rows.append(f"{side.lines:>9,}  {side.store:<9} {cells} {side.bulk_rate:>7,.0f} {side.import_rate:>7,.0f}")
    for one, other in zip(sides[::2], sides[1::2], strict=True):
        ratios = (other.observe.p50 / one.observe.p50, other.recall.p50 / one.recall.p50)
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
    progress: Progress | None = None,
) -> LoadResult:
    """Let `clients` threads recall and observe in `banks` banks at once.

    The banks are called "load 0" and so on, and remain, so that a second run starts at once. Raises BadInput.
    """
    if min(clients, banks) < 1 or seconds <= 0:
        raise BadInput(f"clients, banks and seconds must be positive, got {clients}, {banks}, {seconds}")
    real, tell = factory.open_embedder(embedder), progress or (lambda _: None)
    tell(f"filling {banks:,} banks")
    bulk, recipe = BulkEmbedder(real), factory.open_recipe("default")
    memories = [Memory(f"load {n}", store, bulk, recipe) for n in range(banks)]
    for number, memory in enumerate(memories):
        memory.observe_many(
            synthetic.lines(INITIAL_LINES, skip=INITIAL_LINES * number)
        )  # by their keys, only the first time
    tell(f"{clients} clients for {seconds:.0f} s")
    clerks = [_Client(number, memories, time.perf_counter() + seconds) for number in range(clients)]
    begun = time.perf_counter()
    for clerk in clerks:
        clerk.start()
    for clerk in clerks:
        clerk.join()
    taken = time.perf_counter() - begun
    observed, recalled = ([ms for clerk in clerks for ms in clerk.times[kind]] for kind in ("observe", "recall"))
    return LoadResult(
        clients=clients,
        banks=banks,
        seconds=taken,
        calls=len(observed) + len(recalled),
        errors=tuple(error for clerk in clerks for error in clerk.errors),
        observe=_timing(observed),
        recall=_timing(recalled),
        observe_p99=percentile(observed, 99),
        recall_p99=percentile(recalled, 99),
    )


def _timing(times: list[float]) -> Timing:
    return Timing(percentile(times, 50), percentile(times, 95), len(times))


class _Client(threading.Thread):
    """Recalls or observes in one bank after another until the end."""

    def __init__(self, number: int, memories: Sequence[Memory], end: float) -> None:
        super().__init__(name=f"client {number}")
        self.times: dict[str, list[float]] = {"observe": [], "recall": []}
        self.errors: list[str] = []
        self._chance, self._memories, self._end = random.Random(number), memories, end
        self._queries = synthetic.queries(50, skip=INITIAL_LINES * len(memories), seed=number)

    def run(self) -> None:
        while (begun := time.perf_counter()) < self._end:
            memory, text = self._chance.choice(self._memories), self._chance.choice(self._queries)
            kind = "recall" if self._chance.random() < RECALL_SHARE else "observe"
            try:
                memory.recall(text) if kind == "recall" else memory.observe(text, speaker=self.name)
            except EverthreadError as error:
                self.errors.append(str(error))
            self.times[kind].append(1000 * (time.perf_counter() - begun))
