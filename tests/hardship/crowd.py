"""Many writers and readers of one bank, each a process of its own: `crowd.py write FOLDER WHO THREADS LINES`, or
`crowd.py read FOLDER LINES`, which reads until that many lines are there."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from everthread import Memory
from everthread.models.fakes import HashEmbedder

WHOLE = re.compile(r"whole line (\d+)-(\d+)-(\d+) (x+) (\d+) end")


def whole(text: str) -> bool:
    """Whether a text is one that a writer has written, to the last character."""
    found = WHOLE.fullmatch(text)
    return found is not None and len(found[4]) == int(found[5])


def write(folder: Path, who: int, threads: int, lines: int) -> None:
    with Memory.open("alice", store=folder, embedder=HashEmbedder()) as memory, ThreadPoolExecutor(threads) as pool:

        def work(thread: int) -> None:
            for n in range(lines):
                length = 1 + (n * 997 + who * 31) % 3000
                memory.observe(f"whole line {who}-{thread}-{n} {'x' * length} {length} end", session=f"{who}-{thread}")

        list(pool.map(work, range(threads)))


def read(folder: Path, lines: int) -> None:
    seen = 0
    with Memory.open("alice", store=folder, embedder=HashEmbedder()) as memory:
        while seen < lines:
            hits = memory.recall("whole line end", 10)
            assert all(whole(line.text) for hit in hits for line in hit.passage)
            there = [line.seq for line in memory.lines()]
            assert there == list(range(1, len(there) + 1))
            assert len(there) >= seen
            assert memory.stats().lines >= len(there)
            seen = len(there)


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    {"write": write, "read": read}[what](Path(where), *map(int, numbers))  # type: ignore[operator]
