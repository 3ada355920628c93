"""The columns of a bank's lines in memory, for scoring and filters: a filter is then a few comparisons of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch
from everthread.types import Seqs


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter over columns: numbers of sessions and speakers, and microseconds since 1970. None allows everything."""

    sessions: Sequence[int] | None = None
    speakers: Sequence[int] | None = None
    since: int | None = None  # inclusive
    until: int | None = None  # exclusive


@dataclass(frozen=True, slots=True)
class LineColumns:
    """An immutable snapshot of a bank's lines without retracted ones: safe to read while the next one is built."""

    seqs: Seqs  # (N,) ascending
    lines: npt.NDArray[np.void]  # (N,) of LINE

    @classmethod
    def from_lines(cls, lines: npt.NDArray[np.void]) -> LineColumns:
        """Build a snapshot from lines, ascending by seq."""
        return cls(lines["seq"].astype(np.int64), lines)

    def apply(self, patch: ArrayPatch, lines: npt.NDArray[np.void]) -> LineColumns:
        """Return the snapshot with a patch applied. Only the newest snapshot may be patched."""
        more = LineColumns.from_lines(lines)
        return LineColumns(patch.apply(self.seqs, more.seqs), patch.apply(self.lines, more.lines))

    def select(self, seqs: Seqs) -> npt.NDArray[np.void]:
        """Return (R,) of `LINE_DTYPE` the given lines (ascending) that exist."""
        first, end = np.searchsorted(self.seqs, seqs[[0, -1]] + (0, 1)) if len(seqs) else (0, 0)
        here = slice(int(first), int(end))
        if np.array_equal(self.seqs[here], seqs):  # consecutive, for example all lines up to a moment
            return self.lines[here]
        place = np.searchsorted(self.seqs, seqs)
        there = place < len(self.seqs)
        place, seqs = place[there], seqs[there]
        return np.asarray(self.lines[place[self.seqs[place] == seqs]])

    def filter_seqs(self, choice: ColumnFilter) -> Seqs:
        """Return the seqs that the filter allows, ascending."""
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

    def session_rows(self, numbers: Seqs, within: Seqs) -> npt.NDArray[np.int64]:
        """Summarize sessions, counting only some of their lines.

        Args:
            numbers: (S,) the sessions, ascending; each must have a line in `within`.
            within: the lines to count, ascending.

        Returns:
            (S, 4) number, first seq, last seq and terms.
        """
        ours = np.zeros(int(numbers.max(initial=0)) + 2, bool)  # the last element is for all other sessions
        ours[numbers] = True
        counted = self.select(within)
        here = counted[ours[np.minimum(counted["session"], len(ours) - 1)]]
        place = np.searchsorted(numbers, here["session"])
        first, last, terms = np.full(len(numbers), here["seq"].max(initial=0)), np.zeros_like(numbers), numbers * 0
        np.minimum.at(first, place, here["seq"])
        np.maximum.at(last, place, here["seq"])
        np.add.at(terms, place, here["length"])
        return np.stack([numbers, first, last, terms], axis=1)
