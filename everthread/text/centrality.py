"""Selects the most representative of many short texts: central in the similarity graph, without repetitions. Pure.

Texts are given as terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MIN_EDGE_COSINE = 0.1  # cosine from which two sentences are joined by an edge: the threshold of Erkan and Radev
MMR_LAMBDA = 0.7  # weight of relevance against novelty; Carbonell and Goldstein recommend 0.7 for short summaries
MIN_REPETITION_OVERLAP = 0.8  # share of common terms among all terms of two texts from which one repeats the other
SCORE_DIGITS = 6  # decimals of a score that are compared, so that the order of a summation does not change the result


def tfidf_cosines(texts: Sequence[Sequence[str]]) -> Floats:
    """Return the (N, N) cosines of the texts' TF-IDF vectors; those of a text without terms are 0.

    tf = 1 + ln(count), idf = 1 + ln((1 + N) / (1 + df)); Salton and Buckley, "Term-weighting approaches in automatic
    text retrieval", 1988.
    """
    counts = [Counter(text) for text in texts]
    df = Counter(term for text_counts in counts for term in text_counts)
    columns = {term: column for column, term in enumerate(term for term, n in df.items() if n > 1)}
    weights = np.zeros((len(texts), len(columns)))  # (N, T): a term of a single text makes no pair similar
    lengths = np.zeros(len(texts))
    for row, text_counts in enumerate(counts):
        for term, count in text_counts.items():
            weight = (1 + np.log(count)) * (1 + np.log((1 + len(texts)) / (1 + df[term])))
            lengths[row] += weight**2
            if term in columns:
                weights[row, columns[term]] = weight
    weights /= np.sqrt(np.maximum(lengths, 1e-12))[:, None]
    cosines: Floats = weights @ weights.T
    np.fill_diagonal(cosines, lengths > 0)
    return cosines


def degree_centrality(similarity: Floats) -> Floats:
    """Return the (N,) weighted degrees of the texts in the similarity graph; the greatest is 1.

    Erkan and Radev, "LexRank: graph-based lexical centrality as salience in text summarization", JAIR 22, 2004.
    """
    edges = np.where(similarity >= MIN_EDGE_COSINE, similarity, 0.0)
    np.fill_diagonal(edges, 0.0)
    degrees: Floats = edges.sum(axis=1)
    return degrees / max(float(degrees.max(initial=0.0)), 1e-12)


def select_by_mmr(
    relevance: Floats, similarity: Floats, accepts: Callable[[int], bool], balance: float = MMR_LAMBDA
) -> list[int]:
    """Select texts in the order of their maximal marginal relevance.

    Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998.

    Args:
        relevance: (N,) the relevance of each text.
        similarity: (N, N) the similarity of each pair.
        accepts: called with the index of the best remaining text; returns whether to select it.
        balance: the weight of relevance against novelty, from 0 to 1.

    Returns:
        The indices of the selected texts.
    """
    selected: list[int] = []
    remaining = np.ones(len(relevance), bool)
    max_similarity = np.zeros(len(relevance))  # (N,) to the selected texts
    while remaining.any():
        marginal = np.round(balance * relevance - (1 - balance) * max_similarity, SCORE_DIGITS)
        best = int(np.where(remaining, marginal, -np.inf).argmax())
        remaining[best] = False
        if accepts(best):
            selected.append(best)
            max_similarity = np.maximum(max_similarity, similarity[best])
    return selected


def is_repetition(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts, given as their terms, repeat each other.

    They do if they share MIN_REPETITION_OVERLAP of their terms (Jaccard), and all of their numbers.
    """
    if not one or not other or _numbers(one) != _numbers(other):
        return False
    return len(one & other) >= MIN_REPETITION_OVERLAP * len(one | other)


def _numbers(terms: frozenset[str]) -> set[str]:
    return {term for term in terms if term.isdecimal()}
