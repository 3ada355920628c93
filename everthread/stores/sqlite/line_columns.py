"""What scoring and filters need of a bank's lines, in memory: a filter is then a few comparisons of arrays.

It knows nothing of files; the numbers of sessions and speakers are given to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch
from everthread.types import Seqs


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter over columns: numbers of sessions and speakers, and microseconds since 1970. None rules nothing out."""

    sessions: Sequence[int] | None = None
    speakers: Sequence[int] | None = None
    since: int | None = None  # inclusive
    until: int | None = None  # exclusive


@dataclass(frozen=True, slots=True)
class Columns:
    """An immutable picture of a bank's lines, those retracted left out: safe to read while the next one is made."""

    seqs: Seqs  # (N,) ascending
    lines: npt.NDArray[np.void]  # (N,) of LINE

    @classmethod
    def of(cls, lines: npt.NDArray[np.void]) -> Columns:
        """The picture of lines, ascending by seq."""
        return cls(lines["seq"].astype(np.int64), lines)

    def newer(self, splices: ArrayPatch, lines: npt.NDArray[np.void]) -> Columns:
        """The picture after some lines have changed. Only the newest may be made newer."""
        more = Columns.of(lines)
        return Columns(splices.apply(self.seqs, more.seqs), splices.apply(self.lines, more.lines))

    def at(self, seqs: Seqs) -> npt.NDArray[np.void]:
        """(R,) of LINE: these lines (ascending), as far as they are there."""
        first, end = np.searchsorted(self.seqs, seqs[[0, -1]] + (0, 1)) if len(seqs) else (0, 0)
        here = slice(int(first), int(end))
        if np.array_equal(self.seqs[here], seqs):  # without a gap, as all that was said until a moment
            return self.lines[here]
        place = np.searchsorted(self.seqs, seqs)
        there = place < len(self.seqs)
        place, seqs = place[there], seqs[there]
        return np.asarray(self.lines[place[self.seqs[place] == seqs]])

    def allowed(self, choice: ColumnFilter) -> Seqs:
        """The seqs that the filter allows, ascending."""
        parts = [
            np.isin(self.lines[column], wanted)
            for column, wanted in (("session", choice.sessions), ("speaker", choice.speakers))
            if wanted is not None
        ]
        if choice.since is not None or choice.until is not None:
            said_at = self.lines["said_at"] - self.lines["offset"] * np.int64(1_000_000)  # (N,) in UTC
            parts += [said_at >= choice.since] if choice.since is not None else []
            parts += [said_at < choice.until] if choice.until is not None else []
        return self.seqs[np.logical_and.reduce(parts)] if parts else self.seqs

    def sessions(self, numbers: Seqs, among: Seqs) -> npt.NDArray[np.int64]:
        """(S, 4) number, first seq, last seq and terms of these sessions (ascending), as far as their lines are among
        these; each must have one."""
        ours = np.zeros(int(numbers.max(initial=0)) + 2, bool)  # the last place is of all other sessions
        ours[numbers] = True
        counted = self.at(among)
        here = counted[ours[np.minimum(counted["session"], len(ours) - 1)]]
        place = np.searchsorted(numbers, here["session"])
        first, last, terms = np.full(len(numbers), here["seq"].max(initial=0)), np.zeros_like(numbers), numbers * 0
        np.minimum.at(first, place, here["seq"])
        np.maximum.at(last, place, here["seq"])
        np.add.at(terms, place, here["length"])
        return np.stack([numbers, first, last, terms], axis=1)
