"""LineRestrictions: which lines of a bank a query may find, and which ones count for it."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.stores.arrays import is_member
from everthread.types import Seqs


@dataclass(frozen=True, slots=True, eq=False)
class LineRestrictions:
    """Sets of line numbers, ascending, that restrict a query. None: no restriction.

    Attributes:
        visible: the lines said up to the query's `as_of`, in which terms are counted.
        allowed: the visible lines that the filter allows; they may be found.
        in_times: the lines said at the times of a query without a topic, which are then the candidates.
        exclude: the lines that are in the prompt; they are neither candidates nor neighbours. None: no line.
    """

    visible: Seqs | None = None
    allowed: Seqs | None = None
    in_times: Seqs | None = None
    exclude: Seqs | None = None

    def keep_allowed(self, seqs: Seqs) -> Seqs:
        """Return those of some lines (ascending) that the filter allows."""
        return seqs if self.allowed is None else seqs[is_member(seqs, self.allowed)]

    def drop_excluded(self, seqs: Seqs) -> Seqs:
        """Return those of some lines (ascending) that are not in the prompt."""
        return seqs if self.exclude is None else seqs[~is_member(seqs, self.exclude)]
