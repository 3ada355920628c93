"""Which of many short texts stand for all of them: centrality in the graph of likeness, and no repetition. Pure.

It knows words as terms and nothing of language, people or time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MIN_EDGE_COSINE = 0.1  # cosine from which two sentences are joined by an edge: the threshold of Erkan and Radev
MMR_LAMBDA = 0.7  # of worth against novelty; Carbonell and Goldstein's lambda, 0.7 for short summaries of telling texts
MIN_REPETITION_OVERLAP = 0.8  # share of common terms among all terms of two texts from which one repeats the other
SCORE_DIGITS = 6  # of a score that count, so that a sum in another order chooses nothing else


def tfidf_cosines(texts: Sequence[Sequence[str]]) -> Floats:
    """(N, N) cosines of the texts' TF-IDF vectors: tf = 1 + ln(count), idf = 1 + ln((1 + N) / (1 + df)); Salton and
    Buckley, "Term-weighting approaches in automatic text retrieval", 1988. A text without terms is like nothing."""
    counts = [Counter(text) for text in texts]
    spread = Counter(term for each in counts for term in each)
    shared = {term: place for place, term in enumerate(term for term, n in spread.items() if n > 1)}
    weights = np.zeros((len(texts), len(shared)))  # (N, T): a term of one text alone makes no two texts alike
    lengths = np.zeros(len(texts))
    for row, each in enumerate(counts):
        for term, count in each.items():
            weight = (1 + np.log(count)) * (1 + np.log((1 + len(texts)) / (1 + spread[term])))
            lengths[row] += weight**2
            if term in shared:
                weights[row, shared[term]] = weight
    weights /= np.sqrt(np.maximum(lengths, 1e-12))[:, None]
    near: Floats = weights @ weights.T
    np.fill_diagonal(near, lengths > 0)
    return near


def degree_centrality(near: Floats) -> Floats:
    """(N,) each text's weighted degree in the graph of likeness, the greatest being 1: the degree centrality of Erkan
    and Radev, "LexRank: graph-based lexical centrality as salience in text summarization", JAIR 22, 2004."""
    edges = np.where(near >= MIN_EDGE_COSINE, near, 0.0)
    np.fill_diagonal(edges, 0.0)
    degrees: Floats = edges.sum(axis=1)
    return degrees / max(float(degrees.max(initial=0.0)), 1e-12)


def select_by_mmr(worth: Floats, near: Floats, fits: Callable[[int], bool], balance: float = MMR_LAMBDA) -> list[int]:
    """Return the texts that `fits` accepts, offered in the order of their maximal marginal relevance.

    Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998, with worth in the place of the likeness to a query.
    """
    taken: list[int] = []
    left = np.ones(len(worth), bool)
    closest = np.zeros(len(worth))  # (N,) to whatever was taken
    while left.any():
        marginal = np.round(balance * worth - (1 - balance) * closest, SCORE_DIGITS)
        best = int(np.where(left, marginal, -np.inf).argmax())
        left[best] = False
        if fits(best):
            taken.append(best)
            closest = np.maximum(closest, near[best])
    return taken


def is_repetition(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts, each given as its terms, say the same.

    They do if they share MIN_REPETITION_OVERLAP of their terms (Jaccard), and all of their numbers.
    """
    if not one or not other or _numbers(one) != _numbers(other):
        return False
    return len(one & other) >= MIN_REPETITION_OVERLAP * len(one | other)


def _numbers(terms: frozenset[str]) -> set[str]:
    return {term for term in terms if term.isdecimal()}
