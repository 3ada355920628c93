"""Measures recall from a Postgres database over a simulated slow network.

A proxy in another process delays what passes, in each direction by half of the round trip. It takes some time itself,
so recall through a proxy without a delay is measured too.
"""

from __future__ import annotations

import multiprocessing
import queue
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.load import open_temporary_bank
from everthread.bench.speed import OBSERVED_LINES, QUERY_COUNT, Timing, store_synthetic_lines
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory

WARM_UP = 10  # recalls before the measurement, after which the driver has prepared its statements
BUFFER_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class DelayResult:
    """The times of recall from a bank: direct, through the proxy, and with the delay."""

    lines: int
    delay_ms: float
    direct: Timing
    proxied: Timing
    delayed: Timing

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Return the figures as text."""
        rows = (("direct", self.direct), ("proxy", self.proxied), (f"proxy, {self.delay_ms:g} ms", self.delayed))
        more = self.delayed.p50 - self.proxied.p50
        return "\n".join(
            [f"recall in a bank of {self.lines:,} lines"]
            + [f"  {name:<16} p50 {timing.p50:.1f} ms, p95 {timing.p95:.1f} ms" for name, timing in rows]
            + [f"  a round trip of {self.delay_ms:g} ms costs {more:.1f} ms"]
        )


def measure_delay(url: str, lines: int, delay_ms: float, embedder: Embedder | str | None = None) -> DelayResult:
    """Measure recall from a new bank, which is deleted afterwards.

    Args:
        url: of the database.
        lines: lines of the bank.
        delay_ms: milliseconds of a round trip.
        embedder: the embedder or its name; default: the configured one.

    Raises:
        BadInput: a number is not positive.
    """
    if lines < 1 or delay_ms <= 0:
        raise BadInput(f"lines and the delay must be positive, got {lines} and {delay_ms}")
    bulk, recipe = BulkEmbedder(factory.open_embedder(embedder)), factory.open_recipe("default")
    queries = synthetic.queries(QUERY_COUNT, skip=lines + OBSERVED_LINES)
    with closing(factory.open_store(url)) as store, open_temporary_bank(store, bulk) as bank, ExitStack() as proxies:
        store_synthetic_lines(bank, lines)
        memories = [bank]
        for milliseconds in (0.0, delay_ms):
            proxied = proxies.enter_context(_run_proxy(url, milliseconds))
            slow = proxies.enter_context(closing(factory.open_store(proxied)))
            memories.append(Memory(bank.bank, slow, bulk, recipe))
        timings = _time_in_turn(memories, queries)
    return DelayResult(lines, delay_ms, *timings)


def _time_in_turn(memories: Sequence[Memory], queries: Sequence[str]) -> list[Timing]:
    """Return the times of each memory's recalls. Each query is asked of all: a busy moment slows all of them."""
    for memory in memories:
        for query in queries[:WARM_UP]:
            memory.recall(query)
    times: list[list[float]] = [[] for _ in memories]
    for query, (memory, of_memory) in product(queries, list(zip(memories, times, strict=True))):
        started_at = time.perf_counter()
        memory.recall(query)
        of_memory.append(1000 * (time.perf_counter() - started_at))
    return list(map(Timing.from_times, times))


@contextmanager
def _run_proxy(url: str, delay_ms: float) -> Iterator[str]:
    """Run a proxy until the block ends; yield the URL of the database through it."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    host, port = str(parts.get("host") or "localhost"), int(parts.get("port") or 5432)
    with tempfile.TemporaryDirectory(prefix="everthread-delay-") as folder:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(Path(folder) / f".s.PGSQL.{port}"))
        listening.listen()
        process = multiprocessing.get_context("spawn").Process(
            target=run_proxy, args=(listening, host, port, delay_ms / 2000), daemon=True
        )
        process.start()
        try:
            split = urlsplit(url)
            login = split.netloc.rpartition("@")[0]
            yield urlunsplit(split._replace(netloc=f"{login}@" if login else "", query=f"host={folder}&port={port}"))
        finally:
            listening.close()
            process.terminate()
            process.join()


def run_proxy(listening: socket.socket, host: str, port: int, delay_s: float) -> None:
    """Pass each connection on to a server, with a delay in either direction."""
    while True:
        client, _ = listening.accept()
        local = host.startswith("/")
        server = socket.socket(socket.AF_UNIX) if local else socket.create_connection((host, port))
        if local:
            server.connect(f"{host}/.s.PGSQL.{port}")
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=_pass_on, args=(source, target, delay_s), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    """Pass on what arrives in one direction, until its end."""
    arrived = queue.SimpleQueue[tuple[float, bytes]]()
    threading.Thread(target=_send_later, args=(arrived, target, delay_s), daemon=True).start()
    data = b"-"
    while data:
        try:
            data = source.recv(BUFFER_BYTES)
        except OSError:
            data = b""
        arrived.put((time.perf_counter(), data))


def _send_later(arrived: queue.SimpleQueue[tuple[float, bytes]], target: socket.socket, delay_s: float) -> None:
    data = b"-"
    while data:
        at, data = arrived.get()
        time.sleep(max(at + delay_s - time.perf_counter(), 0) if delay_s else 0)
        with suppress(OSError):
            target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
