"""Copying a bank from one store to another: every line under its number, with its times, retracted ones as such.

What is forgotten stays forgotten. Vectors are made anew, for they belong to the embedder and not to the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import islice, takewhile, zip_longest

from everthread.errors import StoreError
from everthread.memory import BATCH, Memory
from everthread.types import Line


def move(source: Memory, target: Memory, progress: Callable[[int], None] | None = None) -> tuple[int, str]:
    """Copy what the target doesn't have yet, and see that both hold the same: how many lines, and their hash.

    May be stopped and started again. The source stays as it is. Raises StoreError, which names the first line that
    differs, where the target holds something else.
    """
    done = _agreed(source, target)
    lines = source.lines(after=done, retracted=True)
    while batch := list(islice(lines, BATCH)):
        target.restore(batch)
        if progress is not None:
            progress(len(batch))
    _retract(source, target)
    return _compared(source, target)


def _agreed(source: Memory, target: Memory) -> int:
    """The number up to which the target has the lines already. Nothing is written into a bank that holds others."""
    done = target.store.corpus(target.bank).last_seq
    ours = takewhile(lambda line: line.seq <= done, source.lines(retracted=True))
    for line, other in zip_longest(ours, target.lines(retracted=True)):
        if other is not None and other.retracted_at is None and line is not None:
            other = replace(other, retracted_at=line.retracted_at)  # it may not have been said yet
        _same(source.bank, line, other)
    return done


def _same(bank: str, line: Line | None, other: Line | None) -> None:
    """See that two lines are one, down to the offset of its time."""
    if repr(line) != repr(other):
        seq = min(each.seq for each in (line, other) if each is not None)
        raise StoreError(
            f"bank {bank!r} differs at line {seq}: the target holds something else. Move it to another store, or "
            "forget the bank there and move it again"
        )


def _retract(source: Memory, target: Memory) -> None:
    """Retract in the target what is retracted in the source, at the same time."""
    for line, other in zip(source.lines(retracted=True), target.lines(retracted=True), strict=False):
        if line.seq == other.seq and line.retracted_at is not None and other.retracted_at is None:
            target.store.retract(target.bank, line.seq, line.retracted_at)


def _compared(source: Memory, target: Memory) -> tuple[int, str]:
    count, digest = 0, sha256()
    for line, other in zip_longest(source.lines(retracted=True), target.lines(retracted=True)):
        _same(source.bank, line, other)
        count += 1
        digest.update(repr(line).encode())
    return count, digest.hexdigest()
