"""A BM25 index of chunks, for use without vectors. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from everthread.text.analyzer import terms
from everthread.text.bm25 import idf, saturation


class WordIndex:
    """Stores the terms of chunks by id, and finds the chunks that share terms with a query."""

    def __init__(self) -> None:
        self._terms: dict[int, Counter[str]] = {}  # by id
        self._counts: dict[str, dict[int, int]] = {}  # by term: its count in each chunk
        self._total = 0  # terms of all chunks

    def __contains__(self, id: object) -> bool:
        """Return whether a chunk of that id is indexed."""
        return id in self._terms

    def put(self, id: int, text: str) -> None:
        """Index the text of an id, replacing its former text."""
        self.drop([id])
        self._terms[id] = counts = Counter(terms(text))
        self._total += counts.total()
        for term, count in counts.items():
            self._counts.setdefault(term, {})[id] = count

    def drop(self, ids: Iterable[int]) -> None:
        """Remove ids; unknown ids are ignored."""
        for id in ids:
            counts = self._terms.pop(id, Counter())
            self._total -= counts.total()
            for term in counts:
                del self._counts[term][id]
                if not self._counts[term]:
                    del self._counts[term]

    def search(self, query: str) -> list[tuple[int, float]]:
        """Find the ids that share terms with a query.

        Returns:
            Each id with the share of the query's terms that the chunk contains, 0..1, weighted by rarity; the best by
            BM25 first, in a tie the older chunk.
        """
        weights = {term: idf(len(self._counts.get(term, ())), len(self._terms)) for term in terms(query)}
        mean = self._total / max(len(self._terms), 1)
        scores: defaultdict[int, float] = defaultdict(float)
        shares: defaultdict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            count_by_id = self._counts.get(term, {})
            counts = np.fromiter(count_by_id.values(), np.float32, len(count_by_id))
            lengths = np.array([self._terms[id].total() for id in count_by_id], np.float32)
            for id, score in zip(count_by_id, (weight * saturation(counts, lengths, mean)).tolist(), strict=True):
                scores[id] += score
                shares[id] += weight
        mass = sum(weights.values())
        return [(id, min(shares[id] / mass, 1.0)) for id in sorted(scores, key=lambda id: (-scores[id], id))]
