"""A writer or reader of a bank, run as one of many processes.

`crowd.py write STORE WHO THREADS LINES` writes. `crowd.py read STORE LINES` reads until there are that many lines.
`crowd.py apart STORE WHO THREADS LINES` also writes each line into a bank of the writer's own.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from everthread import Memory
from everthread.testing import HashEmbedder

WHOLE = re.compile(r"whole line (\d+)-(\d+)-(\d+) (x+) (\d+) end")


def is_complete(text: str) -> bool:
    """Return whether a text is one that a writer wrote, complete to the last character."""
    match = WHOLE.fullmatch(text)
    return match is not None and len(match[4]) == int(match[5])


def write(store: Path | str, who: int, threads: int, lines: int, bank: str = "alice") -> None:
    with Memory.open(bank, store=store, embedder=HashEmbedder()) as memory, ThreadPoolExecutor(threads) as pool:

        def work(thread: int) -> None:
            for n in range(lines):
                length = 1 + (n * 997 + who * 31) % 3000
                memory.observe(f"whole line {who}-{thread}-{n} {'x' * length} {length} end", session=f"{who}-{thread}")

        list(pool.map(work, range(threads)))


def apart(store: Path | str, who: int, threads: int, lines: int) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda bank: write(store, who, threads, lines, bank), ("alice", f"bank {who}")))


def read(store: Path | str, lines: int) -> None:
    seen = 0
    with Memory.open("alice", store=store, embedder=HashEmbedder()) as memory:
        while seen < lines:
            hits = memory.recall("whole line end", 10)
            assert all(is_complete(line.text) for hit in hits for line in hit.passage)
            seqs = [line.seq for line in memory.lines()]
            assert seqs == list(range(1, len(seqs) + 1))
            assert len(seqs) >= seen
            assert memory.stats().lines >= len(seqs)
            seen = len(seqs)


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    {"write": write, "apart": apart, "read": read}[what](where, *map(int, numbers))  # type: ignore[operator]
