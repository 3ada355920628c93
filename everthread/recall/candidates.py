"""Candidates: finds the lines that may answer a question, and reads what scoring needs of them.

The dense index names the lines nearest in meaning, the words name those that share the query's rarest terms; the
union is scored exactly. In a small bank every line is a candidate; where the question asks only what was said at a
time, the lines of that time are. It gives raw material and no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.arrays import is_member, union
from everthread.stores.base import CorpusStats, Postings, ScoringRows, Store
from everthread.text.analyzer import is_unspaced_script
from everthread.text.bm25 import idf, saturation
from everthread.types import Seqs, Vector

Floats = npt.NDArray[np.float32]

MAX_EXHAUSTIVE_LINES = 1200  # lines; a bank of at most so many is scored whole
DENSE_CANDIDATES = 400  # candidates by meaning; as many as are asked for, where that is more
LEXICAL_CANDIDATES = 400  # candidates by words; likewise
MAX_TERMS = 24  # of a long query only the rarest count; between 12 and 40 nothing changed but the time
MAX_UNSPACED_TERMS = 72  # a word of two characters gives three terms; on Chinese dialogues 24 found 9 points less at 10
MAX_POSTINGS = 400_000  # word records read for one query; the commonest terms are left out first, they tell least

# How much the words of a line at this distance count towards the line's window.
WINDOW_WEIGHTS = {-2: 0.5, -1: 0.8, 0: 1.0, 1: 0.5}
LINES_BEFORE, LINES_AFTER = -min(WINDOW_WEIGHTS), max(WINDOW_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Candidates:
    """C candidates, ascending by seq, and R context rows: the candidates with the lines of their windows.

    at says where each candidate stands among the rows; cosine is NaN for rows that have no vector.
    """

    seqs: Seqs  # (C,)
    row_indexes: npt.NDArray[np.intp]  # (C,) into rows
    rows: ScoringRows  # (R,)
    cosine: Floats  # (R,)
    postings: Mapping[str, Postings]
    corpus: CorpusStats
    query: ParsedQuery
    allowed: Seqs | None  # the lines that may be recalled; None: all


def find_candidates(
    store: Store,
    bank: str,
    model: str,
    query: ParsedQuery,
    vector: Vector | None,
    corpus: CorpusStats,
    *,
    allowed: Seqs | None = None,
    visible: Seqs | None = None,
    in_span: Seqs | None = None,
    exclude: Seqs | None = None,
    k: int = 0,
) -> Candidates:
    """Find the candidates for a query: all lines of a small bank, else the nearest by meaning and by words.

    Args:
        store: the store.
        bank: the bank's id.
        model: the name of the embedder whose vectors are compared.
        query: the parsed question.
        vector: its vector, (D,); None: lines are found by words alone.
        corpus: the bank's statistics.
        allowed: numbers of the lines that may be returned, ascending; None: all.
        visible: numbers of the lines that existed as of the asked moment, by which terms are counted; None: all.
        in_span: numbers of the lines said in the asked time, if the question asks for nothing else.
        exclude: numbers of the lines in the prompt, ascending: neither candidates nor neighbours.
        k: candidates wanted at least, by meaning and by words.
    """
    if exclude is not None:
        k += len(exclude)
    rarest = MAX_UNSPACED_TERMS if is_unspaced_script(query.text) else MAX_TERMS
    last = corpus.last_seq  # what was said since the statistics were read waits for the next query
    postings = {
        term: _drop_after(last, posting)
        for term, posting in store.postings(bank, query.terms, rarest, MAX_POSTINGS, visible).items()
    }
    if exclude is not None:
        postings = {term: _drop_lines(posting, exclude) for term, posting in postings.items()}
    if in_span is not None:
        chosen = sample_evenly(
            in_span if allowed is None else in_span[is_member(in_span, allowed)], max(MAX_EXHAUSTIVE_LINES, k)
        )
    elif (last if visible is None else len(visible)) <= MAX_EXHAUSTIVE_LINES:
        chosen = np.arange(1, last + 1) if allowed is None else allowed
    else:
        dense = (
            np.empty(0, np.int64)
            if vector is None
            else store.nearest_seqs(bank, model, vector, max(DENSE_CANDIDATES, k), allowed)
        )
        chosen = union(dense, find_by_terms(postings, corpus, allowed, max(LEXICAL_CANDIDATES, k)))
    chosen = chosen[chosen <= last]
    if exclude is not None:
        chosen = chosen[~is_member(chosen, exclude)]
    rows = store.scoring_rows(bank, add_windows(chosen, last), visible)
    at = np.flatnonzero(is_member(rows.seq, chosen))
    cosine = (
        np.full(len(rows.lines), np.nan, np.float32) if vector is None else store.cosines(bank, model, vector, rows.seq)
    )
    if exclude is not None:
        cosine = np.where(is_member(rows.seq, exclude), np.float32(np.nan), cosine)
    return Candidates(rows.seq[at], at, rows, cosine, postings, corpus, query, allowed)


def _drop_after(last: int, posting: Postings) -> Postings:
    return Postings(posting.df, posting.records[: np.searchsorted(posting.records["seq"], last, "right")])


def _drop_lines(posting: Postings, without: Seqs) -> Postings:
    """The posting without these lines (ascending)."""
    seqs = posting.records["seq"]
    place = np.searchsorted(seqs, without.astype(seqs.dtype))
    gone = place[np.append(seqs, 0)[place] == without]
    return Postings(posting.df - len(gone), np.delete(posting.records, gone)) if len(gone) else posting


def find_by_terms(postings: Mapping[str, Postings], corpus: CorpusStats, allowed: Seqs | None, most: int) -> Seqs:
    """The `most` lines in whose windows the shared terms weigh most, ascending."""
    weight = np.zeros(corpus.last_seq + 1 + LINES_BEFORE + LINES_AFTER, np.float32)  # by seq
    for posting in postings.values():
        weight[posting.records["seq"]] += idf(posting.df, corpus.lines) * saturation(posting.records["tf"])
    if allowed is not None:  # before the best are chosen, or those of other lines would take all the places
        reach = np.zeros(len(weight), bool)
        for step in WINDOW_WEIGHTS:
            reach[np.clip(allowed + step, 0, len(weight) - 1)] = True
        weight[~reach] = 0
    found = top_k(np.flatnonzero(weight), weight, most)
    near = union(*(found + step for step in range(-LINES_AFTER, LINES_BEFORE + 1)))
    near = near[(near >= 1) & (near <= corpus.last_seq)]
    if allowed is not None:
        near = near[is_member(near, allowed)]
    around = np.zeros(len(weight), np.float32)
    around[near] = sum(weight[near + step] * factor for step, factor in WINDOW_WEIGHTS.items())
    return np.sort(top_k(near, around, most))


def top_k(seqs: Seqs, weight: Floats, most: int) -> Seqs:
    """The seqs of the greatest weight, at most so many, in any order."""
    return seqs if len(seqs) <= most else seqs[np.argpartition(weight[seqs], -most)[-most:]]


def sample_evenly(seqs: Seqs, most: int) -> Seqs:
    """At most so many of the seqs, evenly."""
    return seqs if len(seqs) <= most else seqs[np.linspace(0, len(seqs) - 1, most).astype(np.intp)]


def add_windows(seqs: Seqs, last: int) -> Seqs:
    """The seqs and those of their windows, ascending."""
    if len(seqs) >= last:
        return seqs
    inside = union(*(seqs + step for step in range(-LINES_BEFORE, LINES_AFTER + 1)))
    return inside[(inside >= 1) & (inside <= last)]
