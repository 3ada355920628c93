"""Counts lines and conversations per month."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everthread.stores.base import TermIndex
from everthread.text.line_features import UNDATED


@dataclass(frozen=True, slots=True)
class MonthStats:
    """The numbers of lines and sessions in a month such as 2024-05, without retracted lines."""

    month: str
    lines: int
    sessions: int


def lines_by_month(store: TermIndex, bank: str) -> list[MonthStats]:
    """Count lines and sessions per month, ascending, in the speakers' time zones.

    Undated lines are not counted, and months without lines are left out.
    """
    seqs = np.arange(1, store.corpus_stats(bank).last_seq + 1, dtype=np.int64)
    lines = store.scoring_rows(bank, seqs).lines
    lines = lines[(lines["flags"] & UNDATED) == 0]  # (R,)
    month = lines["said_at"].astype("datetime64[us]").astype("datetime64[M]")
    months, inverse, counts = np.unique(month, return_inverse=True, return_counts=True)
    pairs = np.unique(np.stack([inverse, lines["session"]]), axis=1)[0]  # (P,) the month of each (month, session)
    sessions = np.bincount(pairs, minlength=len(months))
    rows = zip(np.datetime_as_string(months).tolist(), counts.tolist(), sessions.tolist(), strict=True)
    return [MonthStats(*row) for row in rows]
