"""Answers queries that ask only what was said at a time, or at all ("What did we talk about yesterday?").

Such a query shares no topic with any line, so neither its signals nor the relevance gate can judge it. A rule decides:
the lines of that time are relevant, informative ones first, from all parts of the time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from everthread.recall.candidates import Candidates
from everthread.recall.diversity import penalize_repeats
from everthread.recall.features import Floats, Signals, weighted_sum
from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.arrays import union
from everthread.stores.base import Store
from everthread.text.time_expressions import Span
from everthread.types import Filter, Seqs

# Set by hand, because no dataset has such queries: long lines are more informative than short ones, the person's more
# than the bot's (which are long anyway), questions less; small talk comes last.
WEIGHTS = {"length": 1.0, "person": 1.5, "asks": -0.7, "empty": -10.0}
LINES_PER_STRETCH = 20  # consecutive lines of a session that count as one subject
LINES_PER_PART = 100  # a long time is divided into parts of this size
DIVERSITY_PENALTY = (
    2.0  # for the second line of a stretch or part; the fourth has twice the penalty, the eighth three times
)
OVERVIEW_RELEVANCE = 0.9  # of the query and of each line; set by hand, since the query may mean something else
MAX_UTC_OFFSET = timedelta(hours=14)  # of any time zone


def find_lines(
    store: Store, bank: str, parsed: ParsedQuery, clock: datetime, as_of: datetime | None, last_seq: int
) -> Seqs:
    """Find the lines said at the times that a query names, by its quoted speakers if it has any; without times all.

    A date without a year is the latest one on which a line was said.

    Args:
        store: the store.
        bank: the bank's id.
        parsed: the parsed query.
        clock: the moment of asking, on the asker's clock.
        as_of: the moment as of which the bank is read; None: now.
        last_seq: the number of the bank's newest line.

    Returns:
        The numbers of the lines, ascending.
    """
    speakers = tuple(sorted(parsed.quoted_speakers)) or None
    if not parsed.times:
        seqs = store.filter_seqs(bank, Filter(), as_of)
        return np.arange(1, last_seq + 1) if seqs is None else seqs
    seqs_by_time = [np.empty(0, np.int64)]
    for time in parsed.times:
        by_span = (_find_lines_in_span(store, bank, span, speakers, as_of) for span in time.spans(clock))
        seqs_by_time.append(next((seqs for seqs in by_span if len(seqs)), seqs_by_time[0]))
    return union(*seqs_by_time)


def _find_lines_in_span(
    store: Store, bank: str, span: Span, speakers: tuple[str, ...] | None, as_of: datetime | None
) -> Seqs:
    where = Filter(
        speaker=speakers, since=_shift_utc(span.first, -MAX_UTC_OFFSET), until=_shift_utc(span.end, MAX_UTC_OFFSET)
    )
    within_offsets = store.filter_seqs(bank, where, as_of)
    assert within_offsets is not None  # None is returned for an empty filter only
    lines = store.scoring_rows(bank, within_offsets).lines
    said_at = lines["said_at"].astype("datetime64[us]")  # on the speaker's own clock
    return np.asarray(lines["seq"][(said_at >= np.datetime64(span.first)) & (said_at < np.datetime64(span.end))])


def _shift_utc(at: datetime, shift: timedelta) -> datetime:
    """Return a moment of a clock in UTC, shifted; unshifted if the calendar ends before."""
    at = at.replace(tzinfo=UTC)
    try:
        return at + shift
    except OverflowError:
        return at


def compute_scores(candidates: Candidates, signals: Signals) -> Floats:
    """Compute (C,) how informative each line is, with a penalty for each better line of its stretch or part."""
    scores = weighted_sum(signals, WEIGHTS)
    session = candidates.rows.lines["session"][candidates.row_indexes].astype(np.int64)
    # a distinct number for each stretch of each session
    stretch = session * (candidates.corpus.last_seq + 1) + candidates.seqs // LINES_PER_STRETCH
    for group in (stretch, np.arange(len(session)) // LINES_PER_PART):
        scores = penalize_repeats(scores, group, DIVERSITY_PENALTY)
    return scores
