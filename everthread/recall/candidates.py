"""Candidate generation: finds the lines that may answer a query, and reads the data that scoring needs.

The dense index finds the lines nearest in meaning, the postings those with the query's rarest terms; the candidates are
the union. In a small bank every line is a candidate. If the query only asks what was said at a time, the candidates are
the lines of that time. A rank by BM25 only chooses candidates; `features` scores them.

A line's window is the line with its neighbours. The rows are the candidates and the lines around them; records are the
entries of postings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from everthread.embedders.token_vectors import QuestionTokens
from everthread.recall.line_restrictions import LineRestrictions
from everthread.recall.query_parsing import ParsedQuery
from everthread.recall.standing_facts import Request, list_diet_terms
from everthread.stores.arrays import is_member, take_records, union
from everthread.stores.base import CorpusStats, ScoringRows, Store
from everthread.stores.postings import Postings
from everthread.text.analyzer import is_unspaced_script
from everthread.text.bm25 import idf, saturation
from everthread.types import Seqs, Vector

Floats = npt.NDArray[np.float32]

MAX_DIET_LINES = 60  # that are read for a request about food
NO_SEQS = np.empty(0, np.int64)
MAX_EXHAUSTIVE_LINES = 1200  # up to this size of a bank, every line is a candidate
DENSE_CANDIDATES = 400  # nearest in meaning; more if more hits are wanted
LEXICAL_CANDIDATES = 400  # found by terms; likewise
MAX_TERMS = 24  # the rarest terms of a long query; values from 12 to 40 changed only the time
# A Chinese word of two characters has three terms; on Chinese dialogues, recall at 10 was 9 points lower with 24.
MAX_UNSPACED_TERMS = 72
MAX_POSTINGS = 400_000  # records read for one query; terms that would exceed it are left out, the most frequent first

# A line's window: itself and its neighbours, by distance, with the weights of their words.
WINDOW_WEIGHTS = {-2: 0.5, -1: 0.8, 0: 1.0, 1: 0.5}
LINES_BEFORE, LINES_AFTER = -min(WINDOW_WEIGHTS), max(WINDOW_WEIGHTS)
# The lines nearby are those before a line that together have this many terms, and those after it, within as many lines
# as lines of average length would take.
TERMS_BEFORE, TERMS_AFTER = 24, 12
MAX_NEARBY_BEFORE, MAX_NEARBY_AFTER = 6, 3


@dataclass(frozen=True, slots=True)
class Candidates:
    """C candidates, ascending by seq, and R rows: the candidates with the lines around them.

    Attributes:
        seqs: (C,) the numbers of the candidates.
        row_indexes: (C,) the index of each candidate among the rows.
        rows: (R,) the columns of the rows.
        cosine: (R,) the cosine to the query of each candidate and of the rows beside it; NaN for other rows, and for a
            line without a vector.
        postings: the records of the query's terms.
        corpus: the statistics of the bank.
        parsed: the parsed query.
        allowed: the numbers of the lines that may be recalled, ascending; None: all lines.
        diet_seqs: for a request about food the newest lines with a word of diets, ascending.
        tokens: the vectors of the question's words; None if the embedder gives none.
    """

    seqs: Seqs
    row_indexes: npt.NDArray[np.intp]
    rows: ScoringRows
    cosine: Floats
    postings: Mapping[str, Postings]
    corpus: CorpusStats
    parsed: ParsedQuery
    allowed: Seqs | None
    diet_seqs: Seqs = field(default_factory=lambda: NO_SEQS)
    tokens: QuestionTokens | None = None

    @property
    def last_seq(self) -> int:
        """The number of the newest line that may be recalled."""
        return self.corpus.last_seq if self.allowed is None else int(self.allowed.max(initial=0))


def find_candidates(
    store: Store,
    bank: str,
    model: str,
    parsed: ParsedQuery,
    embed: Callable[[], Vector | None],
    corpus: CorpusStats,
    lines: LineRestrictions,
    k: int = 0,
) -> Candidates:
    """Find the candidates for a query: all lines of a small bank, else the nearest by meaning and by words.

    Args:
        store: the store.
        bank: the bank's id.
        model: the name of the embedder whose vectors are compared.
        parsed: the parsed query.
        embed: returns its (D,) vector; None: lines are found by terms alone. It is called after the terms have been
            read, since the vector may still be computed in another thread.
        corpus: the bank's statistics.
        lines: the lines that the query may find, and those that count for it.
        k: find at least this many by meaning, and as many by terms.
    """
    if lines.exclude is not None:
        k += len(lines.exclude)
    last = corpus.last_seq  # lines added after the statistics were read are found by the next query
    postings = _read_postings(store, bank, parsed, last, lines)
    diet_seqs = NO_SEQS
    if parsed.request == Request.FOOD and lines.in_times is None:
        diet_seqs = _find_diet_lines(store, bank, parsed.language, last, lines)
    if lines.in_times is not None:
        seqs = sample_evenly(lines.keep_allowed(lines.in_times), max(MAX_EXHAUSTIVE_LINES, k))
    elif (last if lines.visible is None else len(lines.visible)) <= MAX_EXHAUSTIVE_LINES:
        seqs = np.arange(1, last + 1) if lines.allowed is None else lines.allowed
    else:
        seqs = union(diet_seqs, find_by_terms(postings, corpus, lines.allowed, max(LEXICAL_CANDIDATES, k)))
        if (vector := embed()) is not None:
            nearest = store.nearest_seqs(bank, model, vector, max(DENSE_CANDIDATES, k), lines.allowed)
            # Lines beside them are near as well, by the cosines around them.
            seqs = union(nearest, seqs, lines.keep_allowed(union(nearest - 1, nearest + 1)))
    seqs = lines.drop_excluded(seqs[(seqs >= 1) & (seqs <= last)])
    rows = store.scoring_rows(bank, add_surroundings(seqs, last, *count_surroundings(corpus)), lines.visible)
    is_candidate = is_member(rows.seq, seqs)
    row_indexes = np.flatnonzero(is_candidate)
    cosine = _read_cosines(store, bank, model, embed(), rows.seq, is_candidate, lines.exclude)
    return Candidates(
        rows.seq[row_indexes], row_indexes, rows, cosine, postings, corpus, parsed, lines.allowed, diet_seqs
    )


def _find_diet_lines(store: Store, bank: str, language: str, last: int, lines: LineRestrictions) -> Seqs:
    """Return the newest lines with a word of diets that may be recalled, ascending."""
    terms = list_diet_terms(language)
    read = store.postings(bank, terms, len(terms), MAX_POSTINGS, lines.visible)
    seqs = union(NO_SEQS, *(posting.records["seq"] for posting in read.values()))
    return lines.drop_excluded(lines.keep_allowed(seqs[seqs <= last]))[-MAX_DIET_LINES:]


def _read_postings(
    store: Store, bank: str, parsed: ParsedQuery, last: int, lines: LineRestrictions
) -> dict[str, Postings]:
    """Read the records of the query's terms, without lines after `last` and excluded ones."""
    read = store.postings(bank, lookup_terms(parsed), max_terms(parsed), MAX_POSTINGS, lines.visible)
    if parsed.english_terms:
        read = _merge_synonyms(read, parsed.english_terms)
    postings = {term: _drop_after(last, posting) for term, posting in read.items()}
    if lines.exclude is None:
        return postings
    return {term: _drop_lines(posting, lines.exclude) for term, posting in postings.items()}


def lookup_terms(parsed: ParsedQuery) -> tuple[str, ...]:
    """Return the terms of a query whose records are read."""
    return (*parsed.terms, *parsed.english_terms.values())


def max_terms(parsed: ParsedQuery) -> int:
    """Return of how many of a query's terms the records are read, at most."""
    return MAX_UNSPACED_TERMS if is_unspaced_script(parsed.text) else MAX_TERMS


def _merge_synonyms(read: Mapping[str, Postings], synonyms: Mapping[str, str]) -> dict[str, Postings]:
    """Count a term and its synonym as one term (Pirkola 1998, "The effects of query structure", the operator #syn)."""
    merged = {term: posting for term, posting in read.items() if term not in synonyms.values()}
    for term, synonym in synonyms.items():
        if (other := read.get(synonym)) is not None:
            merged[term] = _union(merged[term], other) if term in merged else other
    return merged


def _union(one: Postings, other: Postings) -> Postings:
    """Return the postings of the lines in either, with the counts of the first for lines in both."""
    if not len(other.records):
        return one if one.df else other
    is_new = ~np.isin(other.records["seq"], one.records["seq"])
    records = np.concatenate([one.records, take_records(other.records, np.flatnonzero(is_new))])
    records = take_records(records, np.argsort(records["seq"], kind="stable"))
    return Postings(max(len(records), one.df), records)


def _read_cosines(
    store: Store,
    bank: str,
    model: str,
    vector: Vector | None,
    seqs: Seqs,
    is_candidate: npt.NDArray[np.bool_],
    exclude: Seqs | None,
) -> Floats:
    """Read (R,) the cosines to a query of candidates, the two rows before each and the one after it.

    NaN for other rows, which no signal needs, for excluded lines and for those without a vector.
    """
    cosine = np.full(len(seqs), np.nan, np.float32)
    if vector is not None:
        is_needed = is_candidate.copy()
        is_needed[1:] |= is_candidate[:-1]
        is_needed[:-1] |= is_candidate[1:]
        is_needed[:-2] |= is_candidate[2:]
        if exclude is not None:
            is_needed &= ~is_member(seqs, exclude)
        cosine[is_needed] = store.cosines(bank, model, vector, seqs[is_needed])
    return cosine


def _drop_after(last: int, posting: Postings) -> Postings:
    """Return a posting without lines after `last`."""
    return Postings(posting.df, posting.records[: np.searchsorted(posting.records["seq"], last, "right")])


def _drop_lines(posting: Postings, dropped: Seqs) -> Postings:
    """Return a posting without these lines (ascending)."""
    seqs = posting.records["seq"]
    indexes = np.searchsorted(seqs, dropped.astype(seqs.dtype))
    indexes = indexes[np.append(seqs, 0)[indexes] == dropped]
    if not len(indexes):
        return posting
    is_kept = np.ones(len(seqs), bool)
    is_kept[indexes] = False
    return Postings(posting.df - len(indexes), take_records(posting.records, np.flatnonzero(is_kept)))


def find_by_terms(postings: Mapping[str, Postings], corpus: CorpusStats, allowed: Seqs | None, limit: int) -> Seqs:
    """Find the lines whose windows weigh most by BM25 over the query's terms.

    Args:
        postings: the records of the terms.
        corpus: the bank's statistics.
        allowed: numbers of the lines that may be found, ascending; None: all lines.
        limit: lines to find at most.

    Returns:
        Their numbers, ascending.
    """
    weight = np.zeros(corpus.last_seq + 1 + LINES_BEFORE + LINES_AFTER, np.float32)  # by seq
    for posting in postings.values():
        weight[posting.records["seq"]] += idf(posting.df, corpus.lines) * saturation(posting.records["tf"])
    if allowed is not None:  # first, or lines that are not allowed would fill the limit
        in_windows = np.zeros(len(weight), bool)
        for step in WINDOW_WEIGHTS:
            in_windows[np.clip(allowed + step, 0, len(weight) - 1)] = True
        weight[~in_windows] = 0
    heaviest = top_k(np.flatnonzero(weight), weight, limit)
    windowed = union(*(heaviest + step for step in range(-LINES_AFTER, LINES_BEFORE + 1)))
    windowed = windowed[(windowed >= 1) & (windowed <= corpus.last_seq)]
    if allowed is not None:
        windowed = windowed[is_member(windowed, allowed)]
    window_weight = np.zeros(len(weight), np.float32)
    window_weight[windowed] = sum(weight[windowed + step] * factor for step, factor in WINDOW_WEIGHTS.items())
    return np.sort(top_k(windowed, window_weight, limit))


def top_k(seqs: Seqs, weight: Floats, k: int) -> Seqs:
    """Return the k numbers of the greatest weight (by seq), or all if there are fewer, in any order."""
    return seqs if len(seqs) <= k else seqs[np.argpartition(weight[seqs], -k)[-k:]]


def sample_evenly(seqs: Seqs, limit: int) -> Seqs:
    """Return at most `limit` of the numbers, evenly spaced."""
    return seqs if len(seqs) <= limit else seqs[np.linspace(0, len(seqs) - 1, limit).astype(np.intp)]


def count_surroundings(corpus: CorpusStats) -> tuple[int, int]:
    """Return how many lines before and after a candidate are read: its window, and what is nearby."""
    mean = max(corpus.mean_per_line(corpus.terms), 1.0)
    before = min(math.ceil(TERMS_BEFORE / mean), MAX_NEARBY_BEFORE)
    after = min(math.ceil(TERMS_AFTER / mean), MAX_NEARBY_AFTER)
    return max(before, LINES_BEFORE), max(after, LINES_AFTER)


def add_surroundings(seqs: Seqs, last: int, before: int, after: int) -> Seqs:
    """Return the numbers of these lines, and of as many before and after each, ascending."""
    if len(seqs) >= last:
        return seqs
    found = union(*(seqs + step for step in range(-before, after + 1)))
    return found[(found >= 1) & (found <= last)]
