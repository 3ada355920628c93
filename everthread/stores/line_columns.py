"""The columns of a bank's lines in memory, for scoring and filters: a filter is then a few comparisons of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch, take_records
from everthread.text.line_features import UNDATED
from everthread.types import Seqs


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter over columns: numbers of sessions and speakers, and microseconds since 1970. None allows everything."""

    sessions: Sequence[int] | None = None
    speakers: Sequence[int] | None = None
    since: int | None = None  # inclusive
    until: int | None = None  # exclusive
    only_dated: bool = False


@dataclass(frozen=True, slots=True)
class LineColumns:
    """A snapshot of a bank's lines without retracted ones: safe to read while the next one is built."""

    seqs: Seqs  # (N,) ascending
    lines: npt.NDArray[np.void]  # (N,) of LINE_DTYPE
    sessions: npt.NDArray[np.int64]  # (M, 4) as in ScoringRows, by number; 0 until `put_sessions`

    @classmethod
    def from_lines(cls, lines: npt.NDArray[np.void]) -> LineColumns:
        """Build a snapshot from lines, ascending by seq."""
        sessions = np.zeros((int(lines["session"].max(initial=0)) + 1, 4), np.int64)
        return cls(lines["seq"].astype(np.int64), lines, sessions)

    def apply(self, patch: ArrayPatch, lines: npt.NDArray[np.void]) -> LineColumns:
        """Return the snapshot with a patch applied. Only the newest snapshot may be patched."""
        appended = LineColumns.from_lines(lines)
        sessions = appended.sessions
        if len(self.sessions) >= len(sessions):
            sessions = self.sessions.copy()
        else:
            sessions[: len(self.sessions)] = self.sessions
        for changed in (lines, *(self.lines[first:end] for first, end, _ in patch.edits)):
            sessions[changed["session"]] = 0
        return LineColumns(patch.apply(self.seqs, appended.seqs), patch.apply(self.lines, lines), sessions)

    def put_sessions(self, rows: npt.NDArray[np.int64]) -> None:
        """Keep (S, 4) rows of sessions that were read in the snapshot's state of the bank."""
        numbers = rows[:, 0]
        self.sessions[numbers, 1:] = rows[:, 1:]
        self.sessions[numbers, 0] = numbers  # last: another thread takes a row that has its number for complete

    def select(self, seqs: Seqs) -> npt.NDArray[np.void]:
        """Return (R,) of `LINE_DTYPE` the given lines (ascending) that exist."""
        first, end = np.searchsorted(self.seqs, seqs[[0, -1]] + (0, 1)) if len(seqs) else (0, 0)
        run = slice(int(first), int(end))
        if np.array_equal(self.seqs[run], seqs):  # consecutive, for example all lines up to a moment
            return self.lines[run]
        positions = np.searchsorted(self.seqs, seqs)
        is_within = positions < len(self.seqs)
        positions, seqs = positions[is_within], seqs[is_within]
        return take_records(self.lines, positions[self.seqs[positions] == seqs])

    def filter_seqs(self, choice: ColumnFilter) -> Seqs:
        """Return the seqs that the filter allows, ascending."""
        masks = [
            np.isin(self.lines[column], wanted)
            for column, wanted in (("session", choice.sessions), ("speaker", choice.speakers))
            if wanted is not None
        ]
        if choice.since is not None or choice.until is not None:
            said_at = self.lines["said_at"] - self.lines["offset"] * np.int64(1_000_000)  # (N,) in UTC
            masks += [said_at >= choice.since] if choice.since is not None else []
            masks += [said_at < choice.until] if choice.until is not None else []
        masks += [(self.lines["flags"] & UNDATED) == 0] if choice.only_dated else []
        return self.seqs[np.logical_and.reduce(masks)] if masks else self.seqs

    def session_rows(self, numbers: Seqs, within: Seqs) -> npt.NDArray[np.int64]:
        """Summarise sessions, counting only some of their lines.

        Args:
            numbers: (S,) the sessions, ascending; each must have a line in `within`.
            within: the lines to count, ascending.

        Returns:
            (S, 4) number, first seq, last seq and terms.
        """
        is_wanted = np.zeros(int(numbers.max(initial=0)) + 2, bool)  # the last element is for all other sessions
        is_wanted[numbers] = True
        counted = self.select(within)
        sessions: npt.NDArray[np.int32] = counted["session"]
        in_sessions = is_wanted[np.minimum(sessions, len(is_wanted) - 1)]
        lines = take_records(counted, np.flatnonzero(in_sessions))
        positions = np.searchsorted(numbers, lines["session"])
        first, last, terms = np.full(len(numbers), lines["seq"].max(initial=0)), np.zeros_like(numbers), numbers * 0
        np.minimum.at(first, positions, lines["seq"])
        np.maximum.at(last, positions, lines["seq"])
        np.add.at(terms, positions, lines["length"])
        return np.stack([numbers, first, last, terms], axis=1)
