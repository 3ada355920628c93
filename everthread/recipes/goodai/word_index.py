"""The words of chunks, and which chunks share most with a query: BM25, for where there are no vectors. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from everthread.text.analyzer import terms
from everthread.text.bm25 import idf, saturation


class WordIndex:
    """The terms of chunks by their ids."""

    def __init__(self) -> None:
        self._terms: dict[int, Counter[str]] = {}  # by id
        self._places: dict[str, dict[int, int]] = {}  # by term: how often it is in which id
        self._total = 0  # terms of all chunks

    def __contains__(self, id: object) -> bool:
        """Whether a chunk of that id is indexed."""
        return id in self._terms

    def put(self, id: int, text: str) -> None:
        """Index the text of an id, in place of the one that it had."""
        self.drop([id])
        self._terms[id] = found = Counter(terms(text))
        self._total += found.total()
        for term, count in found.items():
            self._places.setdefault(term, {})[id] = count

    def drop(self, ids: Iterable[int]) -> None:
        """Forget ids; those that aren't indexed are passed over."""
        for id in ids:
            found = self._terms.pop(id, Counter())
            self._total -= found.total()
            for term in found:
                del self._places[term][id]
                if not self._places[term]:
                    del self._places[term]

    def near(self, query: str) -> list[tuple[int, float]]:
        """Returns the ids that share terms with a query, the best by BM25 first, of equals the older one.

        With each comes the share of the query's terms that it holds, 0..1; a rare term weighs more.
        """
        weights = {term: idf(len(self._places.get(term, ())), len(self._terms)) for term in terms(query)}
        mean = self._total / max(len(self._terms), 1)
        scores: defaultdict[int, float] = defaultdict(float)
        shares: defaultdict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            places = self._places.get(term, {})
            counts = np.fromiter(places.values(), np.float32, len(places))
            lengths = np.array([self._terms[id].total() for id in places], np.float32)
            for id, score in zip(places, (weight * saturation(counts, lengths, mean)).tolist(), strict=True):
                scores[id] += score
                shares[id] += weight
        whole = sum(weights.values())
        return [(id, min(shares[id] / whole, 1.0)) for id in sorted(scores, key=lambda id: (-scores[id], id))]
