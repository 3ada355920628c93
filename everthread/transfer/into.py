"""Lines on their way into a bank that may be the one they came from.

A line with a key is known by it. One without was exported under a key that holds its number and a digest of what it
says; here it is looked up, so that a bank's own export adds nothing to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from everthread.memory import Memory
from everthread.transfer.jsonl import export_key, exported_seq
from everthread.types import NewLine


def strange(memory: Memory, lines: Iterable[NewLine]) -> Iterator[NewLine]:
    """Those of the lines that this bank did not export itself. A parent that it did is named by its number."""
    for line in lines:
        if _seq(memory, line.key) is None:
            yield replace(line, parent=_seq(memory, line.parent) or line.parent)


def _seq(memory: Memory, key: int | str | None) -> int | None:
    """The line of the bank that was exported under this key, retracted or not."""
    seq = exported_seq(key) if isinstance(key, str) else None
    if seq is None:
        return None
    line = next(memory.lines(after=seq - 1, limit=1, retracted=True), None)
    return seq if line is not None and export_key(line) == key else None
