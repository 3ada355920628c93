"""Counts lines and conversations per month."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everthread.stores.base import TermIndex


@dataclass(frozen=True, slots=True)
class MonthStats:
    """The counts of a month, written like 2024-05: lines that are not retracted, and sessions with such lines."""

    month: str
    lines: int
    sessions: int


def lines_by_month(store: TermIndex, bank: str) -> list[MonthStats]:
    """Count lines and sessions per month, ascending, on the speakers' own clocks; months without lines are left out."""
    every = np.arange(1, store.corpus_stats(bank).last_seq + 1, dtype=np.int64)
    lines = store.scoring_rows(bank, every).lines  # (R,)
    month = lines["said_at"].astype("datetime64[us]").astype("datetime64[M]")
    found, place, counts = np.unique(month, return_inverse=True, return_counts=True)
    pairs = np.unique(np.stack([place, lines["session"]]), axis=1)[0]  # (P,) the month of each session in each month
    sessions = np.bincount(pairs, minlength=len(found))
    rows = zip(np.datetime_as_string(found).tolist(), counts.tolist(), sessions.tolist(), strict=True)
    return [MonthStats(*row) for row in rows]
