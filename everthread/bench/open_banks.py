"""Measures the memory and the open files of a process that uses one bank after the other.

Each bank is opened in the library, gets lines, is asked and is no longer used. In a server the same happens over HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.loopback import HOST, TIMEOUT_S, run_process, run_server
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.types import NewLine

LINES = 5  # of each bank
STEPS = 10  # measurements
QUERY = "What did we talk about?"

Progress = Callable[[str], None]
UseBank = Callable[[str, list[NewLine]], object]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The memory and the open files of a process that has used a number of banks."""

    banks: int
    resident_bytes: int
    open_files: int


@dataclass(frozen=True, slots=True)
class OpenBanksResult:
    """The footprints of one process, from the first banks on."""

    served: bool
    footprints: tuple[Footprint, ...]

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        rows = [f"{'banks':>7} {'memory':>9} {'open files':>11}"]
        rows += [
            f"{row.banks:>7,} {row.resident_bytes / 2**20:>5,.0f} MiB {row.open_files:>11}" for row in self.footprints
        ]
        return "\n".join(rows)


def measure_open_banks(
    place: str | Path,
    banks: int,
    *,
    served: bool = False,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> OpenBanksResult:
    """Use banks one after the other, and measure the process now and then. The banks "open 0", "open 1" … remain.

    Args:
        place: a folder, or the URL of a database.
        banks: their number.
        served: whether a server uses them.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: the number is too small, or the system has no /proc.
    """
    if banks < STEPS:
        raise BadInput(f"invalid number of banks: got {banks}, expected at least {STEPS}")
    if not Path("/proc/self/fd").exists():
        raise BadInput("this system has no /proc, from which the footprint is read; measure on Linux")
    footprints = []
    with _serve(place, embedder) if served else _open(place, embedder) as (process, use):
        for number in range(banks):
            use(f"open {number}", list(synthetic.lines(LINES, skip=LINES * number)))
            if (number + 1) % (banks // STEPS) == 0:
                footprints.append(_measure(process, number + 1))
                progress(OpenBanksResult(served, (footprints[-1],)).text().splitlines()[-1])
    return OpenBanksResult(served, tuple(footprints))


@contextmanager
def _open(place: str | Path, embedder: str | None) -> Iterator[tuple[str, UseBank]]:
    """Yield what identifies this process, and a function that uses a bank in it."""
    bulk, recipe = BulkEmbedder(factory.open_embedder(embedder)), factory.open_recipe("default")
    with closing(factory.open_store(place)) as store:

        def use(bank: str, lines: list[NewLine]) -> None:
            with Memory(bank, store, bulk, recipe) as memory:
                memory.observe_many(lines)
                memory.recall(QUERY)

        yield "self", use


@contextmanager
def _serve(place: str | Path, embedder: str | None) -> Iterator[tuple[str, UseBank]]:
    """Yield the id of a server's process, and a function that uses a bank of the server."""
    with (
        run_process(run_server, str(place), f"http://{HOST}:9/v1", embedder) as running,
        httpx.Client(base_url=f"http://{HOST}:{running.port}/api/v1/banks/", timeout=TIMEOUT_S) as client,
    ):

        def use(bank: str, lines: list[NewLine]) -> None:
            body = {"lines": [{"text": line.text, "speaker": line.speaker} for line in lines]}
            client.post(f"{bank}/lines/batch", json=body).raise_for_status()
            client.post(f"{bank}/recall", json={"query": QUERY}).raise_for_status()
            client.get(f"{bank}/chat/current").raise_for_status()

        yield str(running.process.pid), use


def _measure(process: str, banks: int) -> Footprint:
    folder = Path("/proc", process)
    resident = re.search(r"VmRSS:\s+(\d+) kB", (folder / "status").read_text())
    assert resident is not None
    return Footprint(banks, int(resident[1]) * 1024, len(list((folder / "fd").iterdir())))
