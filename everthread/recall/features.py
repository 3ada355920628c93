"""A dozen raw signals, and the linear score that fuses them. Pure.

Raw values, not z-scores: they mean the same in every bank, so one set of weights and one gate serve all. The weights
are fitted by a listwise softmax (Cao et al. 2007, ListNet) on whole rankings: `everthread bench fit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from everthread.recall.candidates import LINES_AFTER, LINES_BEFORE, WINDOW_WEIGHTS, Candidates
from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.arrays import distinct_small
from everthread.stores.base import Postings, ScoringRows
from everthread.text.bm25 import idf, saturation
from everthread.text.line_features import ENDS_WITH_QUESTION, HAS_QUESTION, HAS_TIME, UNINFORMATIVE
from everthread.text.time_expressions import Date, Span, Time

Floats = npt.NDArray[np.float32]
Signals = dict[str, Floats]  # name -> (C,)

SIGNALS = (
    "cosine",  # of the stripped question to the line, its nearest piece
    "cosine_near",  # mean over the line and its two neighbours in the session
    "cosine_session",  # of the best candidate in the session
    "bm25_window",  # over the line and its neighbours, WINDOW; divided by the root of the question's idf mass
    "bm25_session",  # over the whole session; likewise
    "share",  # of the question's idf mass, what stands in the line itself
    "share_window",  # and in its window; for the gate
    "empty",  # the line tells nothing: it only asks, or is small talk
    "asks",  # the line holds a question
    "length",  # log of one more than its terms
    "speaker",  # +1 said by the only speaker named in the question, -1 by another one
    "person",  # said by the person, not by the bot
    "day",  # said on a day that the question names, or in the few days that it tells of
    "month",  # said in a month that the question names, or in that of the day; or in the longer time that it tells of
    "answers",  # the line before it, in the session, ends in a question
    "time",  # the question wants a time and the line tells one
)
UNKNOWN_COSINE = 0.2  # stands in for a line without a vector: about the mean cosine of a question to any line


def compute_signals(query: ParsedQuery, found: Candidates) -> Signals:
    """Every signal of every candidate."""
    rows, at = found.rows, found.row_indexes
    if not len(at):
        return {name: np.empty(0, np.float32) for name in SIGNALS}
    lines = rows.lines
    here = lines[at]  # (C,)
    near = _AdjacentRows(rows, at, found.corpus.last_seq)
    echoes = _echoes(found, near)
    cosine = np.where(np.isnan(found.cosine), UNKNOWN_COSINE, found.cosine)
    heard = np.where(echoes, UNKNOWN_COSINE, cosine)  # by the neighbours
    asked = near.value((lines["marks"] & ENDS_WITH_QUESTION) > 0, -1)
    return {
        "cosine": cosine[at],
        "cosine_near": (cosine[at] + near.value(heard, -1) + near.value(heard, 1))
        / (1 + near.inside(-1) + near.inside(1)),
        "cosine_session": _best_of_session(here["session"], heard[at]),
        **_words(found, near, echoes),
        "empty": ((here["marks"] & UNINFORMATIVE) > 0).astype(np.float32),
        "asks": ((here["marks"] & HAS_QUESTION) > 0).astype(np.float32),
        "length": np.log1p(here["length"].astype(np.float32)),
        "speaker": _speaker(found, here["speaker"]),
        "person": _person(found, here["speaker"]),
        "day": _said_on(query.times, here["said_at"], whole_month=False),
        "month": _said_on(query.times, here["said_at"], whole_month=True),
        "answers": asked,
        "time": ((here["marks"] & HAS_TIME) > 0).astype(np.float32) * query.asks_for_time,
    }


def weighted_sum(values: Signals, weights: Mapping[str, float]) -> Floats:
    """(C,) the weighted sum."""
    names = [name for name in values if name in weights]
    matrix = np.stack([values[name] for name in names], axis=1)  # (C, S)
    return matrix @ np.array([weights[name] for name in names], np.float32)


class _AdjacentRows:
    """Values of the rows around each candidate, by arithmetic on seq; outside the session they count as nothing."""

    def __init__(self, rows: ScoringRows, at: npt.NDArray[np.intp], last_seq: int) -> None:
        self.at = at
        self.place = np.full(
            last_seq + LINES_BEFORE + LINES_AFTER + 2, -1, np.intp
        )  # by seq: where it stands among the rows
        self.place[rows.seq] = np.arange(len(rows.lines))
        self.seq, self.session = rows.seq[at], rows.lines["session"]

    def index(self, step: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """(C,) where the row at this distance stands, and whether it is one of the same session."""
        place = self.place[self.seq + step]
        return place, (place >= 0) & (self.session[place] == self.session[self.at])

    def value(self, values: npt.NDArray[np.generic], step: int) -> Floats:
        place, there = self.index(step)
        return np.where(there, values[place], 0).astype(np.float32)

    def inside(self, step: int) -> npt.NDArray[np.bool_]:
        return self.index(step)[1]


def _best_of_session(session: npt.NDArray[np.int64], cosine: Floats) -> Floats:
    sessions = distinct_small(session)
    inverse = np.searchsorted(sessions, session)
    best = np.full(len(sessions), -1, np.float32)
    np.maximum.at(best, inverse, cosine)
    return best[inverse]


def _echoes(found: Candidates, near: _AdjacentRows) -> npt.NDArray[np.bool_]:
    """(R,) the rows that ask what is asked now, in no other terms. They would draw the lines around them up with
    themselves, so these don't hear them."""
    lines = found.rows.lines
    empty = (lines["marks"] & UNINFORMATIVE) > 0
    if not empty.any():
        return empty
    shared = np.zeros(len(lines) + 1, np.int64)  # the last place takes what is no row
    for posting in found.postings.values():
        shared[near.place[posting.records["seq"]]] += posting.records["tf"]
    return np.asarray(empty & (shared[:-1] >= lines["length"]))


def _words(found: Candidates, near: _AdjacentRows, echoes: npt.NDArray[np.bool_]) -> Signals:
    """The lexical signals, from the records of the query's terms alone."""
    rows, at, corpus = found.rows, found.row_indexes, found.corpus
    steps = {step: near.index(step) for step in WINDOW_WEIGHTS}
    length = _in_window(steps, rows.lines["length"], rows.lines["head_length"], dict.fromkeys(WINDOW_WEIGHTS, 1.0))
    mean_window = corpus.mean_per_line(corpus.terms) + (len(WINDOW_WEIGHTS) - 1) * corpus.mean_per_line(
        corpus.head_terms
    )
    inverse = np.searchsorted(rows.sessions[:, 0], rows.lines["session"][at])
    _, first, last, session_length = rows.sessions.T  # (S,) each
    window, share, share_window = (np.zeros(len(at), np.float32) for _ in range(3))
    session = np.zeros(len(rows.sessions), np.float32)
    scratch = np.zeros(len(rows.lines) + 1, np.float32), np.zeros(len(rows.lines) + 1, np.float32)
    echoing = np.searchsorted(rows.sessions[:, 0], rows.lines["session"][echoes])  # the sessions of the echoes
    mass = 1e-9
    for posting in found.postings.values():
        weight = idf(posting.df, corpus.lines)
        mass += weight
        if not len(posting.records):
            continue
        tf, head = _counts(posting, near, scratch)
        total = _in_sessions(posting, first, last) - np.bincount(echoing, tf[:-1][echoes], len(session))
        head[:-1][echoes] = 0
        tf_window = _in_window(steps, tf, head, WINDOW_WEIGHTS)
        window += weight * saturation(tf_window, length, mean_window)
        share += weight * (tf[at] > 0)
        share_window += weight * (tf_window > 0)
        session += weight * saturation(total, session_length, corpus.terms / max(corpus.sessions, 1))
    return {
        "bm25_window": window / np.sqrt(mass),
        "bm25_session": session[inverse] / np.sqrt(mass),
        "share": share / mass,
        "share_window": share_window / mass,
    }


def _in_window(
    steps: Mapping[int, tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]],
    own: Floats,
    near: Floats,
    weights: Mapping[int, float],
) -> Floats:
    """(C,) the line's own value and its neighbours', weighted by their distance."""
    total = np.zeros(len(steps[0][0]), np.float32)
    for step, factor in weights.items():
        place, there = steps[step]
        total += np.float32(factor) * np.where(there, (near if step else own)[place], np.float32(0))
    return total


def _counts(posting: Postings, near: _AdjacentRows, scratch: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """(R + 1,) how often the term stands in each row and in its head; the last place takes what is no row."""
    tf, head = scratch
    tf[:] = head[:] = 0
    place = near.place[posting.records["seq"]]
    tf[place], head[place] = posting.records["tf"], posting.records["head"]
    return tf, head


def _in_sessions(posting: Postings, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> Floats:
    """(S,) how often the term stands between these seqs, both inclusive."""
    seqs = posting.records["seq"]
    sums = np.concatenate([[0], np.cumsum(posting.records["tf"], dtype=np.int64)])
    return np.asarray(sums[np.searchsorted(seqs, last, "right")] - sums[np.searchsorted(seqs, first)], np.float32)


def _speaker(found: Candidates, numbers: npt.NDArray[np.int32]) -> Floats:
    if len(found.query.mentioned_speakers) != 1:
        return np.zeros(len(numbers), np.float32)
    named = [speaker.number for speaker in found.corpus.speakers if speaker.name in found.query.mentioned_speakers]
    return np.where(np.isin(numbers, named), 1.0, -1.0).astype(np.float32)


def _person(found: Candidates, numbers: npt.NDArray[np.int32]) -> Floats:
    bots = [speaker.number for speaker in found.corpus.speakers if speaker.role == "assistant"]
    return (~np.isin(numbers, bots)).astype(np.float32)


def _said_on(times: Sequence[Time], said_at: npt.NDArray[np.int64], whole_month: bool) -> Floats:
    """(C,) 1 where the line was said on one of the days, or in one of the months."""
    hit = np.zeros(len(said_at), bool)
    for time in times:
        hit |= _on_date(time, said_at, whole_month) if isinstance(time, Date) else _in_span(time, said_at, whole_month)
    return hit.astype(np.float32)


def _on_date(date: Date, said_at: npt.NDArray[np.int64], whole_month: bool) -> npt.NDArray[np.bool_]:
    days = said_at.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year, month = months.astype("datetime64[Y]").astype(int) + 1970, months.astype(int) % 12 + 1
    same = (month == date.month) & ((year == date.year) if date.year else True)
    return np.asarray(same if whole_month else same & ((days - months).astype(int) + 1 == (date.day or -1)))


def _in_span(span: Span, said_at: npt.NDArray[np.int64], whole_month: bool) -> npt.NDArray[np.bool_]:
    """As with dates: of a few days the month is less sure, and a longer time counts as a month."""
    at = said_at.astype("datetime64[us]")
    first, end = np.datetime64(span.first, "us"), np.datetime64(span.end, "us")
    if whole_month and span.short:
        months = at.astype("datetime64[M]")
        return np.asarray((months >= first.astype("datetime64[M]")) & (months <= end.astype("datetime64[M]")))
    return np.asarray((at >= first) & (at < end) & (whole_month or span.short))
