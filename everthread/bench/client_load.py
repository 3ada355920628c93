"""Measures a store under the load of many clients, as threads of one process or of several, in many banks at once.

One client alone is measured before. Clients may pause between their calls, as people do; without pauses they wait for
the processor most of the time, and the times show how long the queue is.
"""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Protocol

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.metrics import percentile
from everthread.bench.speed import Timing, time_calls
from everthread.errors import BadInput, EverthreadError
from everthread.memory import Memory
from everthread.stores.base import Store

INITIAL_LINES = 40  # lines of each bank before the load begins
RECALL_SHARE = 0.5  # share of a client's calls that recall; the others observe
QUERIES_PER_CLIENT = 50  # which a client asks in random order
WARM_UP_CALLS, CALLS_ALONE = 20, 200  # of one client, before the load
START_TIMEOUT_S = 300.0  # for all processes to be ready

Progress = Callable[[str], None]
Times = dict[str, list[float]]  # milliseconds, by kind of call


@dataclass(frozen=True, slots=True)
class Load:
    """The size of a load, and the pauses of its clients.

    Attributes:
        clients: their number.
        banks: the number of banks.
        seconds: duration of the load.
        pause_s: mean pause of a client between two calls, in seconds.
        processes: number of processes that the clients are threads of.
    """

    clients: int = 200
    banks: int = 2000
    seconds: float = 60.0
    pause_s: float = 0.0
    processes: int = 1

    def check(self) -> None:
        """Raise BadInput for a number that is not positive, or fewer clients than processes."""
        if min(self.clients, self.banks, self.processes) < 1 or self.seconds <= 0 or self.pause_s < 0:
            raise BadInput(
                f"clients, banks, seconds and processes must be positive, got {self.clients}, {self.banks}, "
                f"{self.seconds} and {self.processes}; pauses must not be negative, got {self.pause_s}"
            )
        if self.clients % self.processes:
            raise BadInput(f"{self.clients} clients can't be divided among {self.processes} processes equally")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The measurements of many clients. Times are milliseconds a call, including its wait for the processor."""

    load: Load
    calls: int
    errors: tuple[str, ...]
    alone: Timing  # recall of one client
    observe: Timing
    recall: Timing
    observe_p99: float
    recall_p99: float

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.load.seconds

    @property
    def ratio(self) -> float:
        """The p99 of recall by the p50 of one client alone."""
        return self.recall_p99 / self.alone.p50

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "rate": round(self.rate, 1), "ratio": round(self.ratio, 1)}

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        load = self.load
        pauses = f", pauses of {load.pause_s:g} s" if load.pause_s else ""
        processes = f"{load.processes} processes" if load.processes > 1 else "1 process"
        rows = [
            f"{load.clients} clients of {processes} on {load.banks:,} banks for {load.seconds:.0f} s{pauses}: "
            f"{self.calls:,} calls, {self.rate:.0f} a second, {len(self.errors)} errors",
            f"{'alone':8} recall p50 {self.alone.p50:.1f} ms, p95 {self.alone.p95:.1f} ms",
        ]
        for name, times, p99 in (("observe", self.observe, self.observe_p99), ("recall", self.recall, self.recall_p99)):
            rows.append(
                f"{name:8} p50 {times.p50:.1f} ms, p95 {times.p95:.1f} ms, p99 {p99:.1f} ms, {times.calls:,} calls"
            )
        rows.append(f"p99 of recall: {self.ratio:.1f} times its p50 alone")
        return "\n".join([*rows, *sorted(set(self.errors))])


def run_load(
    place: str | Path, load: Load, *, embedder: str | None = None, progress: Progress = lambda text: None
) -> LoadResult:
    """Recall and observe in many banks from many threads at once.

    The banks "load 0", "load 1" … are not deleted, so that a second run starts at once.

    Args:
        place: a folder, or the URL of a database.
        load: its size.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for a number that is not positive.
    """
    load.check()
    with closing(factory.open_store(place)) as store:
        memories = _open_banks(store, load, embedder)
        progress(f"filling {load.banks:,} banks")
        for number, memory in enumerate(memories):
            memory.observe_many(
                synthetic.lines(INITIAL_LINES, skip=INITIAL_LINES * number)
            )  # stored once, by their keys
        progress("one client alone")
        alone = _measure_alone(memories)
        progress(f"{load.clients} clients for {load.seconds:.0f} s")
        if load.processes == 1:
            parts = [_run_clients(memories, load, 0)]
    if load.processes > 1:
        parts = _run_processes(str(place), load, embedder)
    observed, recalled = ([ms for part in parts for ms in part.times[kind]] for kind in ("observe", "recall"))
    return LoadResult(
        load=load,
        calls=len(observed) + len(recalled),
        errors=tuple(error for part in parts for error in part.errors),
        alone=alone,
        observe=Timing.from_times(observed),
        recall=Timing.from_times(recalled),
        observe_p99=percentile(observed, 99),
        recall_p99=percentile(recalled, 99),
    )


def _open_banks(store: Store, load: Load, embedder: str | None) -> list[Memory]:
    bulk, recipe = BulkEmbedder(factory.open_embedder(embedder)), factory.open_recipe("default")
    return [Memory(f"load {n}", store, bulk, recipe) for n in range(load.banks)]


def _queries(load: Load, seed: int) -> list[str]:
    return list(synthetic.queries(QUERIES_PER_CLIENT, skip=INITIAL_LINES * load.banks, seed=seed))


def _measure_alone(memories: Sequence[Memory]) -> Timing:
    """Measure recall of one client, each time in another bank."""
    chosen = random.Random(0)
    queries = synthetic.queries(WARM_UP_CALLS + CALLS_ALONE, skip=INITIAL_LINES * len(memories))

    def recall(query: str) -> object:
        return chosen.choice(memories).recall(query)

    time_calls(recall, queries[:WARM_UP_CALLS])
    return time_calls(recall, queries[WARM_UP_CALLS:])


# ------------------------------------------------------------------- processes


@dataclass(slots=True)
class Part:
    """The measurements of the clients of one process."""

    times: Times = field(default_factory=lambda: {"observe": [], "recall": []})
    errors: list[str] = field(default_factory=list)


class Results(Protocol):
    """Takes the part of a process."""

    def put(self, part: Part, /) -> None: ...


def _run_processes(place: str, load: Load, embedder: str | None) -> list[Part]:
    """Run the clients in processes of their own, which begin at the same time."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(load.processes), context.SimpleQueue()
    target = partial(_run_process, place, load, embedder, ready, results)
    processes = [context.Process(target=target, args=(number,), daemon=True) for number in range(load.processes)]
    for process in processes:
        process.start()
    parts = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return parts


def _run_process(place: str, load: Load, embedder: str | None, ready: Barrier, results: Results, number: int) -> None:
    part = Part(errors=[f"process {number} has ended early"])
    try:
        with closing(factory.open_store(place)) as store:
            memories = _open_banks(store, load, embedder)
            memories[number].recall("hello")  # loads the model, and connects
            ready.wait(START_TIMEOUT_S)
            part = _run_clients(memories, load, number)
    finally:
        results.put(part)


def _run_clients(memories: Sequence[Memory], load: Load, process: int) -> Part:
    """Run the clients of one process."""
    count = load.clients // load.processes
    end = time.perf_counter() + load.seconds
    clients = [_Client(process * count + number, memories, load, end) for number in range(count)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    times = {kind: [ms for client in clients for ms in client.times[kind]] for kind in ("observe", "recall")}
    return Part(times, [error for client in clients for error in client.errors])


class _Client(threading.Thread):
    """Recalls or observes in one bank after another until the end."""

    def __init__(self, number: int, memories: Sequence[Memory], load: Load, end: float) -> None:
        super().__init__(name=f"client {number}")
        self.times: Times = {"observe": [], "recall": []}
        self.errors: list[str] = []
        self._random, self._memories, self._load, self._end = random.Random(number), memories, load, end
        self._queries = _queries(load, number)

    def run(self) -> None:
        while self._pause():
            memory, text = self._random.choice(self._memories), self._random.choice(self._queries)
            kind = "recall" if self._random.random() < RECALL_SHARE else "observe"
            started_at = time.perf_counter()
            try:
                memory.recall(text) if kind == "recall" else memory.observe(text, speaker=self.name)
            except EverthreadError as error:
                self.errors.append(str(error))
            self.times[kind].append(1000 * (time.perf_counter() - started_at))

    def _pause(self) -> bool:
        """Pause for a random time with the mean `pause_s`. Return whether there is time for another call."""
        pause_s = self._random.expovariate(1 / self._load.pause_s) if self._load.pause_s else 0.0
        time.sleep(max(min(pause_s, self._end - time.perf_counter()), 0))
        return time.perf_counter() < self._end
