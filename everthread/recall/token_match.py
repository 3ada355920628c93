"""Late interaction: how near the words of the best candidates are in meaning to the words of the question. Pure.

For each word of the question the nearest word of a line counts, by the cosine of their token vectors, and the words are
weighted by their idf (MaxSim: Khattab and Zaharia 2020, "ColBERT"). A line that holds "greyhound" thereby matches a
question about a pet although the line as a whole is about something else.

Only the best candidates by the other signals are compared. A line that was not compared, or that has no codes because
an earlier version stored it, gets the value that its other signals let expect, which is no evidence for or against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.embedders.token_vectors import match_tokens
from everthread.recall.candidates import Candidates
from everthread.recall.features import Signals
from everthread.text.analyzer import terms
from everthread.text.bm25 import idf

Floats = npt.NDArray[np.float32]

# What the other signals let expect, by least squares on the lines of conversations among friends.
EXPECTED = {"cosine": 0.0, "share": 0.0}
EXPECTED_BIAS = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTokens:
    """The tokens of a question that are compared.

    Attributes:
        scheme: the scheme of the codes with which they may be compared.
        vectors: (Q, B) their vectors.
        weights: (Q,) the idf of their words; the sum is 1.
    """

    scheme: str
    vectors: Floats
    weights: Floats


def weigh_tokens(candidates: Candidates) -> WeightedTokens | None:
    """Weigh the tokens of a question by how rare their words are in the bank; None if no token counts.

    Speakers' names don't count: they have a signal of their own.
    """
    tokens = candidates.tokens
    if tokens is None:
        return None
    lines, postings = candidates.corpus.lines, candidates.postings
    common = min((idf(posting.df, lines) for posting in postings.values()), default=0.0)  # of terms that were not read

    def weigh(word: str) -> float:
        found = [term for term in terms(word) if term not in candidates.parsed.speaker_terms]
        return max((idf(postings[term].df, lines) if term in postings else common for term in found), default=0.0)

    weights = np.array([weigh(word) for word in tokens.words], np.float32)
    if not weights.any():
        return None
    chosen = np.flatnonzero(weights)
    return WeightedTokens(tokens.scheme, tokens.vectors[chosen], weights[chosen] / weights.sum())


def compute_signal(
    candidates: Candidates, signals: Signals, question: WeightedTokens | None, found: Sequence[tuple[int, bytes]]
) -> Floats:
    """Compute the signal of every candidate.

    Args:
        candidates: the candidates.
        signals: their other signals.
        question: the tokens of the question; None if it has none.
        found: numbers and codes, row by row, of the lines that are compared.

    Returns:
        (C,) about the mean cosine of the question's words to the nearest word of the line.
    """
    expected = EXPECTED_BIAS + sum(np.float32(weight) * signals[name] for name, weight in EXPECTED.items())
    values = np.asarray(expected, np.float32)
    compared = [(seq, codes) for seq, codes in found if codes]
    if question is None or not compared:
        return values
    row_bytes = question.vectors.shape[1] // 8
    codes = np.frombuffer(b"".join(codes for _, codes in compared), np.uint8).reshape(-1, row_bytes)
    ends = np.cumsum([len(codes) // row_bytes for _, codes in compared])
    cosines = match_tokens(question.vectors, codes)  # (Q, T)
    nearest = np.maximum.reduceat(cosines, np.append(0, ends[:-1]), axis=1)  # (Q, lines)
    positions = np.searchsorted(candidates.seqs, [seq for seq, _ in compared])
    values[positions] = question.weights @ nearest
    return values
