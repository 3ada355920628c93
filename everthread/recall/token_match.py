"""Late interaction: how near the words of the best candidates are in meaning to the words of the question. Pure.

For each word of the question the nearest word of a line counts, by the cosine of their token vectors, and the words are
weighted by their idf (MaxSim: Khattab and Zaharia 2020, "ColBERT"). A line that holds "greyhound" thereby matches a
question about a pet although the line as a whole is about something else.

Only the best candidates by the other signals are compared. The signal is what the comparison adds to what cosine and
share of words suggest. So it is 0, no evidence for or against a line, if the line was not compared, or has no codes
because an earlier version stored it.
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

SIGNAL = "token_match"  # the name of the signal

# The value that the other signals suggest, by least squares on the lines of conversations among friends.
EXPECTED = {"cosine": 0.548, "share": 0.3875}
EXPECTED_BIAS = 0.1796
MAX_TOKENS = 32  # of a question; a longer one is talk, some word of which is near to a word of any line
MATCHED_COSINE = 0.6  # of a word of the question to one of a line, from which on both mean about the same
MIN_CODED_SHARE = 0.5  # of the lines read, below which nothing is known of unmatched words
UNKNOWN_UNMATCHED = 0.2  # with it, as many questions pass the gate as with codes


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


@dataclass(frozen=True, slots=True, eq=False)
class WordComparison:
    """The words of the best candidates, compared with those of the question.

    Attributes:
        match: (C,) the mean cosine of the question's words to the nearest word of each candidate, less what its other
            signals suggest; 0 for a candidate that was not compared.
        unmatched: the share of the question's words, by idf, to which no word of these lines is near.
    """

    match: Floats
    unmatched: float


def weigh_tokens(candidates: Candidates) -> WeightedTokens | None:
    """Weigh the tokens of a question by how rare their words are in the bank; None if no token counts, or if there are
    too many.

    Speakers' names don't count: they have a signal of their own.
    """
    tokens = candidates.tokens
    if tokens is None or len(tokens.words) > MAX_TOKENS:
        return None
    lines, postings = candidates.corpus.lines, candidates.postings
    common = min((idf(posting.df, lines) for posting in postings.values()), default=0.0)  # of terms that were not read

    def weigh(word: str) -> float:
        found = [term for term in terms(word) if term not in candidates.parsed.speaker_terms]
        return max((idf(postings[term].df, lines) if term in postings else common for term in found), default=0.0)

    weight_by_word = {word: weigh(word) for word in set(tokens.words)}
    weights = np.array([weight_by_word[word] for word in tokens.words], np.float32)
    if not weights.any():
        return None
    chosen = np.flatnonzero(weights)
    return WeightedTokens(tokens.scheme, tokens.vectors[chosen], weights[chosen] / weights.sum())


def compare_words(
    signals: Signals, question: WeightedTokens | None, best: npt.NDArray[np.intp], codes: Sequence[bytes | None]
) -> WordComparison:
    """Compare the words of the best candidates with those of the question.

    Args:
        signals: the other signals of the candidates.
        question: the tokens of the question; None if it has none.
        best: the indexes of the best candidates.
        codes: their codes, row by row; None for a line that has none.
    """
    match = np.zeros(len(signals["cosine"]), np.float32)  # (C,)
    compared = best[[bool(of_line) for of_line in codes]]
    if question is None or not len(compared):
        return WordComparison(match, UNKNOWN_UNMATCHED)
    row_bytes = question.vectors.shape[1] // 8
    found = [of_line for of_line in codes if of_line]
    tokens = np.frombuffer(b"".join(found), np.uint8).reshape(-1, row_bytes)  # (T, B / 8)
    counts = np.array(list(map(len, found))) // row_bytes  # of tokens
    cosines = match_tokens(question.vectors, tokens)  # (Q, T)
    nearest = np.maximum.reduceat(cosines, np.cumsum(counts) - counts, axis=1)  # (Q, lines)
    expected = EXPECTED_BIAS + sum(weight * signals[name][compared] for name, weight in EXPECTED.items())
    match[compared] = question.weights @ nearest - expected
    has_most = len(best) - codes.count(None) >= MIN_CODED_SHARE * len(best)
    unmatched = float(question.weights @ (nearest.max(axis=1) < MATCHED_COSINE)) if has_most else UNKNOWN_UNMATCHED
    return WordComparison(match, unmatched)
