"""Lines on their way into a bank that may be the one they came from.

A line with a key is known by it. One without was exported under a key that holds its number and a digest of what it
says; here it is looked up, so that a bank's own export adds nothing to it. A key that the bank knows for other words is
an error: the line would be lost. What was retracted where it comes from is retracted here as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from everthread.memory import BATCH, Memory
from everthread.observe.clean import clean, keepable
from everthread.transfer.files import EPOCH, bad, shown
from everthread.transfer.jsonl import export_key, exported_seq
from everthread.types import Line, NewLine


def keep(memory: Memory, lines: Sequence[NewLine]) -> None:
    """Keep the lines that are new to the bank, and retract those of its own that have been retracted since."""
    new = list(strange(memory, lines))
    kept = zip(new, memory.observe_many(new), strict=True)
    own = [(line, there) for line in lines if line.retracted_at and (there := _own(memory, line.key))]
    for line, there in (*kept, *own):
        if line.retracted_at is not None and there.retracted_at is None:
            memory.store.retract(memory.bank, there.seq, line.retracted_at)


def strange(memory: Memory, lines: Iterable[NewLine]) -> Iterator[NewLine]:
    """Those of the lines that this bank did not export itself. A parent that it did is named by its number."""
    for line in lines:
        if _own(memory, line.key) is None:
            parent = _own(memory, line.parent)
            yield line if parent is None else replace(line, parent=parent.seq)


def check(memory: Memory, lines: Iterable[NewLine], path: Path, places: Mapping[str, str]) -> None:
    """BadFile, where the bank knows the key of one of the lines and keeps other words under it. places says where each
    key stands in the file."""
    rest = iter(lines)
    while batch := list(islice(rest, BATCH)):
        keys = [keepable(line.key)[0] if isinstance(line.key, str) else "" for line in batch]
        known = memory.store.known(memory.bank, [key for key in keys if key])
        for line, key in zip(batch, keys, strict=True):
            there = known.get(key)
            if there is not None and (there.speaker, there.text) != _said(line):
                what = (
                    f"bank {memory.bank!r} keeps other words under the key {shown(line.key)}, as its line {there.seq}"
                )
                where = places.get(line.key or "", str(line.key))
                raise bad(path, where, what, "give the line another key, or none; nothing was imported")


def _said(line: NewLine) -> tuple[str, str]:
    """Who says what, as a bank would keep it."""
    kept = clean(line, EPOCH)
    return kept.speaker, kept.text


def _own(memory: Memory, key: int | str | None) -> Line | None:
    """The line of the bank that was exported under this key, retracted or not."""
    seq = exported_seq(key) if isinstance(key, str) else None
    if seq is None:
        return None
    line = next(memory.lines(after=seq - 1, limit=1, retracted=True), None)
    return line if line is not None and export_key(line) == key else None
