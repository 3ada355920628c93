"""A BM25 index of chunks, for use without vectors. Pure."""

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
        self._places: dict[str, dict[int, int]] = {}  # by term: its count in each id
        self._total = 0  # terms of all chunks

    def __contains__(self, id: object) -> bool:
        """Return whether a chunk of that id is indexed."""
        return id in self._terms

    def put(self, id: int, text: str) -> None:
        """Index the text of an id, replacing its former text."""
        self.drop([id])
        self._terms[id] = found = Counter(terms(text))
        self._total += found.total()
        for term, count in found.items():
            self._places.setdefault(term, {})[id] = count

    def drop(self, ids: Iterable[int]) -> None:
        """Remove ids; unknown ids are ignored."""
        for id in ids:
            found = self._terms.pop(id, Counter())
            self._total -= found.total()
            for term in found:
                del self._places[term][id]
                if not self._places[term]:
                    del self._places[term]

    def search(self, query: str) -> list[tuple[int, float]]:
        """Find the ids that share terms with a query.

        Returns:
            Each id with the share of the query's terms in it, 0..1, weighted by rarity; the best by BM25 first, of
            equals the older one.
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
