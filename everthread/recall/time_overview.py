"""What was said at a time: the answer to a question that names a time and nothing else ("What did we talk about
yesterday?").

No word of such a question bears on any line, so neither the signals nor the gate can judge it. Its answer is decided by
rule: the lines of that time, the telling ones first, from all that was talked of then.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from everthread.recall.candidates import Candidates
from everthread.recall.features import Floats, Signals, weighted_sum
from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.arrays import repeat_indexes, union
from everthread.stores.base import Store
from everthread.text.time_expressions import Span
from everthread.types import Filter, Seqs

# By hand, as no dataset asks so: long lines tell more than short ones, the person's more than the bot's (which are
# long anyway), questions less; small talk comes behind all.
WEIGHTS = {"length": 1.0, "person": 1.5, "asks": -0.7, "empty": -10.0}
LINES_PER_STRETCH = 20  # lines of a session that are taken for one subject
LINES_PER_PART = 100  # lines of a long time that are taken for one part of it
DIVERSITY_PENALTY = (
    2.0  # what the second line of a stretch, or a part, counts less than the first, the fourth than the second, …
)
OVERVIEW_RELEVANCE = (
    0.9  # of the question as a whole and of each line; by hand, as the question may have meant something else
)
MAX_UTC_OFFSET = timedelta(hours=14)  # a clock is at most so far from UTC


def find_lines_in_spans(store: Store, bank: str, query: ParsedQuery, clock: datetime, as_of: datetime | None) -> Seqs:
    """The lines said at the times that a question names, by whom it names as having said them; ascending. Of a date
    that comes every year the latest is meant at which anything was said."""
    tellers = tuple(sorted(query.quoted_speakers)) or None
    found = [np.empty(0, np.int64)]
    for time in query.times:
        each = (_said_in(store, bank, span, tellers, as_of) for span in time.spans(clock))
        found.append(next((seqs for seqs in each if len(seqs)), found[0]))
    return union(*found)


def _said_in(store: Store, bank: str, span: Span, tellers: tuple[str, ...] | None, as_of: datetime | None) -> Seqs:
    where = Filter(speaker=tellers, since=_utc(span.first, -MAX_UTC_OFFSET), until=_utc(span.end, MAX_UTC_OFFSET))
    near = store.filter_seqs(bank, where, as_of)
    assert near is not None  # which it is only where nothing is asked
    lines = store.scoring_rows(bank, near).lines
    said_at = lines["said_at"].astype("datetime64[us]")  # on the speaker's own clock
    return np.asarray(lines["seq"][(said_at >= np.datetime64(span.first)) & (said_at < np.datetime64(span.end))])


def _utc(at: datetime, shift: timedelta) -> datetime:
    """The moment shifted, or the nearest that the calendar has."""
    at = at.replace(tzinfo=UTC)
    try:
        return at + shift
    except OverflowError:
        return at


def compute_scores(found: Candidates, values: Signals) -> Floats:
    """(C,) how much a line tells, the less the more tells another line of the same stretch, or of that part of the
    time."""
    left = weighted_sum(values, WEIGHTS)
    session = found.rows.lines["session"][found.row_indexes].astype(np.int64)
    stretch = session * (found.corpus.last_seq + 1) + found.seqs // LINES_PER_STRETCH  # a number for each
    for group in (stretch, np.arange(len(session)) // LINES_PER_PART):
        left = left - np.float32(DIVERSITY_PENALTY) * np.log2(1 + _rank(group, left)).astype(np.float32)
    return left


def _rank(group: npt.NDArray[np.integer], told: Floats) -> npt.NDArray[np.intp]:
    """(C,) how many lines of the same group come before, the greatest first."""
    order = np.lexsort((-told, group))
    rank = np.empty(len(group), np.intp)
    rank[order] = repeat_indexes(group[order].astype(np.int64))
    return rank
