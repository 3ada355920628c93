"""The features of candidate lines: twenty-one signals, and their weighted sum, the score. Pure.

`statements` has three more, which are read from the texts of the best candidates, and `token_match` one, from the codes
of their words.

The signals are raw values, not z-scores: they mean the same in every bank, so that one set of weights and one relevance
gate serve all banks. The weights are fitted by a listwise softmax (Cao et al. 2007, ListNet) on whole rankings:
`everthread bench fit`.

The lines nearby are those before a line in its session that together have `TERMS_BEFORE` terms, and those after it that
have `TERMS_AFTER`, within as many lines as lines of the bank's average length would take (`count_surroundings`).

The idf mass of a query is the sum of the idf of its terms. The head of a line is its first `HEAD_CHARS`
characters (`text.analyzer`): neighbours in a window count only by their heads.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from everthread.recall.candidates import (
    LINES_AFTER,
    LINES_BEFORE,
    TERMS_AFTER,
    TERMS_BEFORE,
    WINDOW_WEIGHTS,
    Candidates,
    count_surroundings,
)
from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.arrays import take_records
from everthread.stores.base import ScoringRows
from everthread.stores.postings import Records
from everthread.text.bm25 import idf, saturation
from everthread.text.line_features import ENDS_WITH_QUESTION, HAS_QUESTION, HAS_TIME, UNDATED, UNINFORMATIVE
from everthread.text.time_expressions import Date, Span, Time

Floats = npt.NDArray[np.float32]
Signals = dict[str, Floats]  # name -> (C,)

SIGNALS = (
    "cosine",  # of the query to the nearest piece of the line
    "cosine_near",  # mean over the line and its two neighbours in the session
    "cosine_window",  # mean over the line and its neighbours (WINDOW_WEIGHTS): a short message depends on others
    "cosine_session",  # of the best candidate in the session
    "bm25_window",  # over the line and its neighbours (WINDOW_WEIGHTS), divided by the root of the query's idf mass
    "bm25_nearby",  # over the line and those nearby, divided likewise: in short messages, these are more
    "bm25_session",  # over the whole session, divided likewise
    "share",  # share of the query's idf mass whose terms the line contains
    "share_window",  # share of the query's idf mass whose terms the window contains; for the relevance gate
    "empty",  # 1 for a line without information: it only asks, or is small talk
    "asks",  # 1 for a line that contains a question
    "length",  # log1p of the line's terms
    "speaker",  # if the query has one speaker's name: +1 for a line by one of that name, -1 for another; else 0
    "person",  # 1 if said by a person, 0 if said by the bot
    "day",  # 1 if said on a day that the query names, or within a named span of a few days
    "near_day",  # 1 if said within NEAR_DAYS of a day or short span that the query names
    "month",  # 1 if said in a month that the query names, in that of a named day, or within a longer named span
    "answers",  # 1 if the line before it in the session ends in a question
    "time",  # 1 if the query asks for a time and the line contains one
    "opening",  # 1 / (1 + the lines of the bank since the session began): what it is about is said first
    "age",  # log1p of the lines of the bank since then, MAX_AGE_LINES at most, divided by AGE_LINES
)
NEAR_DAYS = 2  # people speak of an event a day or two later, or announce it before
MICROS_PER_DAY = 86_400_000_000
AGE_LINES = 50
MAX_AGE_LINES = 1500  # as many as the longest conversation that the weights were fitted on
UNKNOWN_COSINE = 0.2  # of a line without a vector: about the mean cosine of a question to any line


def compute_signals(parsed: ParsedQuery, candidates: Candidates) -> Signals:
    """Compute every signal of every candidate.

    Returns:
        By name of the signal, (C,) its values.
    """
    rows, row_indexes = candidates.rows, candidates.row_indexes
    if not len(row_indexes):
        return {name: np.empty(0, np.float32) for name in SIGNALS}
    lines = take_records(rows.lines, row_indexes)  # (C,)
    flags = lines["flags"]
    adjacent = _AdjacentRows(rows, row_indexes, candidates.corpus.last_seq)
    echoes = _find_echoes(candidates, adjacent)
    cosine = np.where(np.isnan(candidates.cosine), np.float32(UNKNOWN_COSINE), candidates.cosine)
    without_echoes = _with_missing(np.where(echoes, np.float32(UNKNOWN_COSINE), cosine))
    of_line = cosine[row_indexes]
    near = of_line + adjacent.take(without_echoes, -1) + adjacent.take(without_echoes, 1)
    exists = _with_missing(np.ones(len(cosine), np.float32))
    near_lines = 1 + adjacent.take(exists, -1) + adjacent.take(exists, 1)
    sessions = np.searchsorted(rows.sessions[:, 0], lines["session"])  # (C,)
    return {
        "cosine": of_line,
        "cosine_near": near / near_lines,
        "cosine_window": (near + adjacent.take(without_echoes, -2)) / (near_lines + adjacent.take(exists, -2)),
        "cosine_session": _best_in_session(sessions, len(rows.sessions), without_echoes[row_indexes]),
        **_lexical_signals(candidates, adjacent, echoes, sessions),
        "empty": _has_flag(flags, UNINFORMATIVE),
        "asks": _has_flag(flags, HAS_QUESTION),
        "length": np.log1p(lines["length"].astype(np.float32)),
        "speaker": _speaker_signal(candidates, lines["speaker"]),
        "person": _person_signal(candidates, lines["speaker"]),
        "day": _date_signal(parsed.times, lines, whole_month=False),
        "near_day": _near_day_signal(parsed.times, lines),
        "month": _date_signal(parsed.times, lines, whole_month=True),
        "answers": adjacent.take(_with_missing(_has_flag(rows.lines["flags"], ENDS_WITH_QUESTION)), -1),
        "time": _has_flag(flags, HAS_TIME) if parsed.asks_for_time else np.zeros(len(lines), np.float32),
        "opening": (1 / (1 + lines["seq"] - rows.sessions[sessions, 1])).astype(np.float32),
        "age": _age_signal(candidates.last_seq - lines["seq"]),
    }


def weighted_sum(signals: Signals, weights: Mapping[str, float]) -> Floats:
    """Return (C,) the weighted sum of the signals that have a weight."""
    return np.asarray(weighted_sums(signals, weights)[0])


def weighted_sums(signals: Signals, *weightings: Mapping[str, float]) -> npt.NDArray[np.float64]:
    """Return (W, C) for each of W weightings the weighted sum of the signals that have a weight."""
    names = [name for name in signals if any(name in weights for weights in weightings)]
    matrix = np.array([[weights.get(name, 0.0) for name in names] for weights in weightings], np.float32)  # (W, S)
    # In double precision, whose rounding does not change the order of two lines.
    return np.asarray(matrix @ np.array([signals[name] for name in names], np.float64))


class _AdjacentRows:
    """Reads values of the rows around each candidate, by arithmetic on seq. Rows of other sessions count as missing."""

    def __init__(self, rows: ScoringRows, row_indexes: npt.NDArray[np.intp], last_seq: int) -> None:
        missing = len(rows.lines)  # the index of no row
        self.index_by_seq = np.full(last_seq + LINES_BEFORE + LINES_AFTER + 2, missing, np.intp)
        self.index_by_seq[rows.seq] = np.arange(missing)
        seqs, sessions = rows.seq[row_indexes], np.append(rows.lines["session"], np.int32(-1))
        own_sessions = sessions[row_indexes]
        self._indexes = {0: row_indexes}  # by distance
        for step in WINDOW_WEIGHTS.keys() - {0}:
            indexes = self.index_by_seq[seqs + step]
            self._indexes[step] = np.where(sessions[indexes] == own_sessions, indexes, missing)

    def take(self, of_rows: Floats, step: int) -> Floats:
        """Return (..., C) the value of the row at this distance, of (..., R + 1) with that of a missing row."""
        return np.take(of_rows, self._indexes[step], axis=-1)


def _with_missing(of_rows: npt.NDArray[np.generic]) -> Floats:
    """Return (R + 1,) the values of the rows, and 0 for a missing row."""
    values = np.zeros(len(of_rows) + 1, np.float32)
    values[:-1] = of_rows
    return values


def _has_flag(flags: npt.NDArray[np.int32], flag: int) -> Floats:
    """Return 1 for lines with the flag, and 0 for the others."""
    return ((flags & flag) > 0).astype(np.float32)


def _best_in_session(sessions: npt.NDArray[np.intp], count: int, cosine: Floats) -> Floats:
    """Return (C,) the greatest cosine of a candidate in the same session.

    Args:
        sessions: (C,) the index of each candidate's session.
        count: the number of sessions.
        cosine: (C,) the cosines.
    """
    best = np.full(count, -1, np.float32)
    np.maximum.at(best, sessions, cosine)
    return best[sessions]


def _find_echoes(candidates: Candidates, adjacent: _AdjacentRows) -> npt.NDArray[np.bool_]:
    """Return (R,) whether a row only repeats the query: it has no information, and no term that the query lacks.

    Such rows would raise the scores of the lines around them, so they don't count for their neighbours.
    """
    lines = candidates.rows.lines
    empty = (lines["flags"] & UNINFORMATIVE) > 0
    if not empty.any():
        return empty
    shared = np.zeros(len(lines) + 1, np.int64)  # the last element is for lines that are not among the rows
    for posting in candidates.postings.values():
        seqs: npt.NDArray[np.uint32] = posting.records["seq"]
        shared[adjacent.index_by_seq[seqs]] += posting.records["tf"]
    lengths: npt.NDArray[np.int32] = lines["length"]
    return empty & (shared[:-1] >= lengths)


def _lexical_signals(
    candidates: Candidates, adjacent: _AdjacentRows, echoes: npt.NDArray[np.bool_], sessions: npt.NDArray[np.intp]
) -> Signals:
    """Compute the lexical signals from the postings of the query's terms: for all T terms with records at once."""
    rows, corpus = candidates.rows, candidates.corpus
    idfs = {term: idf(posting.df, corpus.lines) for term, posting in candidates.postings.items()}
    mass = sum(idfs.values(), 1e-9)
    by_term = {term: posting.records for term, posting in candidates.postings.items() if len(posting.records)}
    weights = np.array([idfs[term] for term in by_term], np.float32)  # (T,)
    tf, head = _count_in_rows(by_term.values(), adjacent, len(rows.lines))
    by_session = _count_in_sessions(by_term.values(), rows.sessions)
    if by_term and echoes.any():
        echo_sessions = np.searchsorted(rows.sessions[:, 0], rows.lines["session"][echoes])
        by_session -= [np.bincount(echo_sessions, counts, len(rows.sessions)) for counts in tf[:, :-1][:, echoes]]
        head[:, :-1][:, echoes] = 0
    tf_window = _sum_over_window(adjacent, tf, head, WINDOW_WEIGHTS)
    lengths, head_lengths = _with_missing(rows.lines["length"]), _with_missing(rows.lines["head_length"])
    length = _sum_over_window(adjacent, lengths, head_lengths, dict.fromkeys(WINDOW_WEIGHTS, 1.0))
    neighbour_length = corpus.mean_per_line(corpus.head_terms)
    mean_length = corpus.mean_per_line(corpus.terms) + (len(WINDOW_WEIGHTS) - 1) * neighbour_length
    informative_tf = np.where(echoes, 0, tf[:, :-1]) if echoes.any() else tf[:, :-1]
    tf_nearby, length_nearby = _sum_nearby(candidates, informative_tf)
    mean_nearby_length = corpus.mean_per_line(corpus.terms) + TERMS_BEFORE + TERMS_AFTER
    mean_session_length = corpus.terms / max(corpus.sessions, 1)
    of_session = weights @ saturation(by_session, rows.sessions[:, 3], mean_session_length)  # (S,)
    return {
        "bm25_window": weights @ saturation(tf_window, length, mean_length) / math.sqrt(mass),
        "bm25_nearby": weights @ saturation(tf_nearby, length_nearby, mean_nearby_length) / math.sqrt(mass),
        "bm25_session": of_session[sessions] / math.sqrt(mass),
        "share": weights @ (adjacent.take(tf, 0) > 0) / mass,
        "share_window": weights @ (tf_window > 0) / mass,
    }


def _sum_over_window(
    adjacent: _AdjacentRows, of_line: Floats, of_neighbour: Floats, weights: Mapping[int, float]
) -> Floats:
    """Return (..., C) the line's own value and its neighbours', weighted by their distance.

    Args:
        adjacent: finds the neighbours.
        of_line: (..., R + 1) the value of a row as the line itself; the last is 0, for a missing row.
        of_neighbour: (..., R + 1) the value of a row as a neighbour, likewise.
        weights: by distance.
    """
    parts = (
        np.float32(factor) * adjacent.take(of_neighbour if step else of_line, step) for step, factor in weights.items()
    )
    return reduce(np.add, parts)


def _sum_nearby(candidates: Candidates, tf: Floats) -> tuple[Floats, Floats]:
    """Return (T, C) how often each term occurs in a candidate and the lines nearby, and (C,) how many terms they have.

    Args:
        candidates: the C candidates among the R rows.
        tf: (T, R) how often each term occurs in each row.
    """
    rows, row_indexes = candidates.rows, candidates.row_indexes
    most_before, most_after = count_surroundings(candidates.corpus)
    terms_before = np.concatenate([[0], np.cumsum(rows.lines["length"])])  # (R + 1,) a row
    run_begins = np.flatnonzero(np.append(True, (np.diff(rows.seq) != 1) | (np.diff(rows.lines["session"]) != 0)))
    run = np.searchsorted(run_begins, row_indexes, "right")  # of consecutive lines of a session
    first = np.searchsorted(terms_before, terms_before[row_indexes] - TERMS_BEFORE, "right") - 1
    first = np.maximum(first, np.maximum(run_begins[run - 1], row_indexes - most_before))
    end = np.searchsorted(terms_before, terms_before[row_indexes + 1] + TERMS_AFTER)
    end = np.minimum(end, np.minimum(np.append(run_begins, len(rows.seq))[run], row_indexes + 1 + most_after))
    tf_before = np.zeros((len(tf), len(rows.seq) + 1), np.float32)
    np.cumsum(tf, axis=1, out=tf_before[:, 1:])
    counts = np.take(tf_before, end, axis=1) - np.take(tf_before, first, axis=1)
    return counts, (terms_before[end] - terms_before[first]).astype(np.float32)


def _count_in_rows(postings: Collection[Records], adjacent: _AdjacentRows, row_count: int) -> tuple[Floats, Floats]:
    """Return (T, R + 1) how often each term occurs in each row, and in its head; the last are 0, for a missing row."""
    tf = np.zeros((len(postings), row_count + 1), np.float32)
    head = np.zeros_like(tf)
    for records, tf_of_term, head_of_term in zip(postings, tf, head, strict=True):
        seqs: npt.NDArray[np.uint32] = records["seq"]
        indexes = adjacent.index_by_seq[seqs]
        tf_of_term[indexes], head_of_term[indexes] = records["tf"], records["head"]
    tf[:, -1] = head[:, -1] = 0
    return tf, head


def _count_in_sessions(postings: Collection[Records], sessions: npt.NDArray[np.int64]) -> Floats:
    """Return (T, S) how often each term occurs between the first and the last seq of each session."""
    _, first, last, _ = sessions.T  # (S,) each
    counts = np.empty((len(postings), len(sessions)), np.float32)
    for records, counts_of_term in zip(postings, counts, strict=True):
        seqs = records["seq"].astype(np.int64)
        sums = np.zeros(len(records) + 1, np.int64)
        np.cumsum(records["tf"], out=sums[1:])
        counts_of_term[:] = sums[np.searchsorted(seqs, last, "right")] - sums[np.searchsorted(seqs, first)]
    return counts


def _speaker_signal(candidates: Candidates, speaker_numbers: npt.NDArray[np.int32]) -> Floats:
    names = candidates.parsed.asked_speakers
    if not names:
        return np.zeros(len(speaker_numbers), np.float32)
    mentioned = [speaker.number for speaker in candidates.corpus.speakers if speaker.name in names]
    return np.where(_is_one_of(speaker_numbers, mentioned), np.float32(1), np.float32(-1))


def _person_signal(candidates: Candidates, speaker_numbers: npt.NDArray[np.int32]) -> Floats:
    bots = [speaker.number for speaker in candidates.corpus.speakers if speaker.role == "assistant"]
    return (~_is_one_of(speaker_numbers, bots)).astype(np.float32)


def _is_one_of(numbers: npt.NDArray[np.int32], few: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return (C,) whether each number is one of a few; faster than `np.isin`, which sorts them."""
    return reduce(np.logical_or, (numbers == number for number in few), np.zeros(len(numbers), bool))


def _age_signal(lines_since: npt.NDArray[np.int64]) -> Floats:
    return np.log1p((np.minimum(lines_since, MAX_AGE_LINES) / AGE_LINES).astype(np.float32))


def _date_signal(times: Sequence[Time], lines: npt.NDArray[np.void], whole_month: bool, days_off: int = 0) -> Floats:
    """Return (C,) 1 for a line that was said on one of the days, or with `whole_month` in one of the months; else 0.

    `days_off` shifts the time of every line, towards the past: with 1, a line of the next day matches.
    """
    said_at = lines["said_at"] - days_off * MICROS_PER_DAY
    matches = np.zeros(len(said_at), bool)
    for time in times:
        matches |= (
            _is_on_date(time, said_at, whole_month)
            if isinstance(time, Date)
            else _is_in_span(time, said_at, whole_month)
        )
    matches &= (lines["flags"] & UNDATED) == 0
    return matches.astype(np.float32)


def _near_day_signal(times: Sequence[Time], lines: npt.NDArray[np.void]) -> Floats:
    """Return (C,) 1 for a line that was said at most NEAR_DAYS before or after one of the days; else 0."""
    near = np.zeros(len(lines), np.float32)
    for days_off in range(-NEAR_DAYS, NEAR_DAYS + 1) if times else ():
        np.maximum(near, _date_signal(times, lines, whole_month=False, days_off=days_off), out=near)
    return near


def _is_on_date(date: Date, said_at: npt.NDArray[np.int64], whole_month: bool) -> npt.NDArray[np.bool_]:
    days = said_at.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year, month = months.astype("datetime64[Y]").astype(int) + 1970, months.astype(int) % 12 + 1
    matches = (month == date.month) & ((year == date.year) if date.year else True)
    return np.asarray(matches if whole_month else matches & ((days - months).astype(int) + 1 == (date.day or -1)))


def _is_in_span(span: Span, said_at: npt.NDArray[np.int64], whole_month: bool) -> npt.NDArray[np.bool_]:
    """Return (C,) whether a line was said within a span.

    Short spans count as days, longer ones as months. With `whole_month`, a short span matches its whole months.
    """
    at = said_at.astype("datetime64[us]")
    first, end = np.datetime64(span.first, "us"), np.datetime64(span.end, "us")
    if whole_month and span.is_short:
        months = at.astype("datetime64[M]")
        return np.asarray((months >= first.astype("datetime64[M]")) & (months <= end.astype("datetime64[M]")))
    return np.asarray((at >= first) & (at < end) & (whole_month or span.is_short))
