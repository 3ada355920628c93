"""Measures speed and size: observing, importing and recalling in banks of growing size, compared with a plain baseline.

The lines are synthetic (`synthetic`). To build a million of them in minutes, their vectors come from `BulkEmbedder`;
every timed call still includes the real model. The baseline is the simplest alternative: an exact scan of float32
vectors with numpy, and SQLite's FTS5 queried for any of the words, over the same lines in the same run.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import DIMENSIONS, BulkEmbedder, split_words
from everthread.bench.metrics import percentile
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, StoreError
from everthread.memory import Memory
from everthread.types import Filter, NewLine, Vector

BANK_SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUERY_COUNT = 200
OBSERVED_LINES = 100  # lines observed one by one at each size
IMPORT_BATCH_LINES = 10_000  # lines that a bank gets at once while it is built
SAMPLE_LINES = 512  # lines imported with the real model; more would only take longer
MAX_SERIES_S = 60.0  # seconds of one series of timed calls; a slow baseline is timed on fewer queries
BANK = "bench"

Progress = Callable[[str], None]
Argument = TypeVar("Argument")


@dataclass(frozen=True, slots=True)
class Timing:
    """The percentiles of the milliseconds of several calls."""

    p50: float
    p95: float
    calls: int

    @classmethod
    def from_times(cls, times: Sequence[float]) -> Timing:
        """Summarise the milliseconds of each call."""
        return cls(percentile(times, 50), percentile(times, 95), len(times))


@dataclass(frozen=True, slots=True)
class SpeedResult:
    """The results at one size. Rates are lines a second; resident is the memory of a fresh process, in bytes."""

    lines: int
    observe: Timing
    recall: Timing
    filtered: Timing  # recall of one speaker's lines, as of the middle of all
    cold_start_ms: float
    resident_bytes: int
    disk_bytes: int
    bulk_rate: float
    import_rate: float
    baseline: Timing
    baseline_bytes: int


class Baseline:
    """Searches lines by an exact scan of their vectors and by FTS5."""

    def __init__(self, path: Path, size: int) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE VIRTUAL TABLE line USING fts5(text)")
        self._vectors = np.empty((size, DIMENSIONS), np.float32)  # (N, D)
        self._path = path

    def fill(self, lines: Iterator[NewLine], embedder: BulkEmbedder) -> None:
        stored = 0
        while batch := [line.text for line in islice(lines, 1000)]:
            self._vectors[stored : stored + len(batch)] = embedder.project(batch)
            rows = enumerate(batch, stored + 1)
            self._db.executemany("INSERT INTO line (rowid, text) VALUES (?, ?)", rows)
            stored += len(batch)
        self._db.commit()

    def recall(self, query: str, vector: Vector, k: int = 50) -> list[int]:
        """Return the numbers of the k best lines of both searches, merged by reciprocal rank."""
        scores = self._vectors @ vector  # (N,)
        nearest = np.argpartition(-scores, min(k, len(scores) - 1))[:k]
        dense = (nearest[np.argsort(-scores[nearest])] + 1).tolist()
        match = " OR ".join(f'"{word}"' for word in split_words(query))
        rows = self._db.execute("SELECT rowid FROM line WHERE line MATCH ? ORDER BY rank LIMIT ?", (match, k))
        points: dict[int, float] = {}
        for ranking in (dense, [seq for (seq,) in rows]):
            for rank, seq in enumerate(ranking, 1):
                points[seq] = points.get(seq, 0.0) + 1 / (60 + rank)
        return sorted(points, key=lambda seq: -points[seq])[:k]

    def close(self) -> int:
        """Close the file. Return the bytes used, including vectors."""
        self._db.close()
        return self._path.stat().st_size + self._vectors.nbytes


def measure_speed(
    sizes: Sequence[int] = BANK_SIZES, *, embedder: str | None = None, progress: Progress = lambda text: None
) -> list[SpeedResult]:
    """Measure at each size, in temporary folders.

    Args:
        sizes: lines of a bank.
        embedder: the real model's name; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for invalid sizes.
    """
    if not sizes or min(sizes) < 1:
        raise BadInput(f"invalid sizes: got {list(sizes)}, expected whole numbers from 1 such as 1000,10000")
    real = factory.open_embedder(embedder)
    progress("importing a sample with the real model")
    rate = _import_rate(real)
    return [replace(_measure(size, real, embedder, progress), import_rate=rate) for size in sizes]


def table(rows: Sequence[SpeedResult]) -> str:
    """Return the figures for the terminal and the docs."""
    head = (
        "lines",
        "observe ms",
        "recall ms",
        "filtered ms",
        "baseline ms",
        "cold start",
        "resident",
        "disk",
        "baseline",
        "bulk",
        "import",
    )
    cells = [head, *(_format_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(
        [
            *lines,
            "",
            "ms: p50 / p95 of one call. filtered: one speaker's lines, as of the middle of all. "
            "bulk, import: lines a second without and with the model.",
        ]
    )


def as_json(rows: Sequence[SpeedResult]) -> list[dict[str, Any]]:
    """Return the figures by name."""
    return [asdict(row) for row in rows]


def recall_once(folder: str, embedder: str, query: str) -> None:
    """Open the bank in a fresh process, recall once, and print the costs as JSON. `measure_speed` runs it."""
    started_at = time.perf_counter()
    with Memory.open(BANK, store=folder, embedder=BulkEmbedder(factory.open_embedder(embedder or None))) as bank:
        hits = bank.recall(query)
    elapsed_ms = 1000 * (time.perf_counter() - started_at)
    print(json.dumps({"hits": len(hits), "milliseconds": elapsed_ms, "resident_bytes": _resident_bytes()}))


def _measure(size: int, real: Embedder, name: str | None, progress: Progress) -> SpeedResult:
    bulk = BulkEmbedder(real)
    new_lines = list(synthetic.lines(OBSERVED_LINES, skip=size))
    queries = synthetic.queries(QUERY_COUNT, skip=size + OBSERVED_LINES)
    with tempfile.TemporaryDirectory(prefix="everthread-speed-") as folder:
        progress(f"{size:,} lines: building")
        with Memory.open(BANK, store=Path(folder) / "banks", embedder=bulk) as bank:
            rate = size / store_synthetic_lines(bank, size)
            disk = bank.stats().bytes
            progress(f"{size:,} lines: recalling")
            bank.recall(queries[0])
            recall = time_calls(bank.recall, queries)
            filtered = time_calls(_recall_filtered(bank, size), queries)
        progress(f"{size:,} lines: a fresh process")
        cold, resident = _recall_in_new_process(Path(folder) / "banks", name, queries[0])
        progress(f"{size:,} lines: observing")
        with Memory.open(BANK, store=Path(folder) / "banks", embedder=bulk) as bank:
            observe = time_calls(lambda line: bank.observe_many([line]), new_lines)
        progress(f"{size:,} lines: the baseline")
        baseline, baseline_bytes = _measure_baseline(Path(folder) / "baseline.db", size, bulk, queries)
    return SpeedResult(size, observe, recall, filtered, cold, resident, disk, rate, 0.0, baseline, baseline_bytes)


def _recall_filtered(bank: Memory, size: int) -> Callable[[str], object]:
    middle = synthetic.FIRST_SAID_AT + size // 2 // synthetic.SESSION_LINES * synthetic.SESSION_INTERVAL
    return lambda query: bank.recall(query, where=Filter(speaker=synthetic.SPEAKERS[0]), as_of=middle)


def _measure_baseline(path: Path, size: int, bulk: BulkEmbedder, queries: Sequence[str]) -> tuple[Timing, int]:
    """Return the times of the baseline's queries, and its bytes."""
    baseline = Baseline(path, size)
    baseline.fill(synthetic.lines(size), bulk)
    baseline.recall(queries[0], bulk.embed_query(queries[0]))
    timing = time_calls(lambda query: baseline.recall(query, bulk.embed_query(query)), queries)
    return timing, baseline.close()


def _import_rate(real: Embedder) -> float:
    """Return the lines a second that observe_many stores with the real model, which is loaded before."""
    real.embed(["warm"])
    with (
        tempfile.TemporaryDirectory(prefix="everthread-speed-") as folder,
        Memory.open(BANK, store=folder, embedder=real) as bank,
    ):
        return SAMPLE_LINES / store_synthetic_lines(bank, SAMPLE_LINES)


def _recall_in_new_process(folder: Path, name: str | None, query: str) -> tuple[float, int]:
    """Return (milliseconds from the start of Python to the first hits, resident bytes) of a new process."""
    program = "import sys; from everthread.bench.speed import recall_once; recall_once(*sys.argv[1:])"
    command = [sys.executable, "-c", program, str(folder), name or "", query]
    started_at = time.perf_counter()
    process = subprocess.run(command, capture_output=True, text=True)
    elapsed_ms = 1000 * (time.perf_counter() - started_at)
    if process.returncode != 0:
        raise StoreError(f"a fresh process could not recall: {process.stderr.strip()[-500:]}; run it again by hand")
    return elapsed_ms, int(json.loads(process.stdout)["resident_bytes"])


def store_synthetic_lines(memory: Memory, count: int) -> float:
    """Store the first `count` synthetic lines in batches, and return the seconds that it took."""
    lines = synthetic.lines(count)
    started_at = time.perf_counter()
    while batch := list(islice(lines, IMPORT_BATCH_LINES)):
        memory.observe_many(batch)
    return time.perf_counter() - started_at


def time_calls(call: Callable[[Argument], object], arguments: Sequence[Argument]) -> Timing:
    """Time a call with each of the arguments, up to MAX_SERIES_S in all."""
    times: list[float] = []
    for argument in arguments:
        started_at = time.perf_counter()
        call(argument)
        times.append(1000 * (time.perf_counter() - started_at))
        if sum(times) > 1000 * MAX_SERIES_S:
            break
    return Timing.from_times(times)


def _format_cells(row: SpeedResult) -> tuple[str, ...]:
    timings = [
        f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in (row.observe, row.recall, row.filtered, row.baseline)
    ]
    sizes = [f"{size / 2**20:,.0f} MiB" for size in (row.resident_bytes, row.disk_bytes, row.baseline_bytes)]
    return (
        f"{row.lines:,}",
        *timings,
        f"{row.cold_start_ms:,.0f} ms",
        *sizes,
        f"{row.bulk_rate:,.0f}",
        f"{row.import_rate:,.0f}",
    )


def _resident_bytes() -> int:
    """Return the resident bytes of this process, or their maximum until now if the system reports only that."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read_text())[1]) * 1024  # type: ignore[index]
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes there and kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
