"""Measures an embedder on pairs: at which rank it finds the text of each question among all texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everthread.embedders import shapes
from everthread.embedders.base import Embedder
from everthread.training.pairs import Pair

KS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The quality of an embedder on pairs: shares of questions, and the mean reciprocal rank."""

    questions: int
    texts: int
    recall: dict[int, float]
    mrr: float


def evaluate(embedder: Embedder, pairs: Sequence[Pair]) -> Evaluation:
    """Rank all texts of the pairs, negatives included, for each question.

    A question with several answers counts by its best one.

    Args:
        embedder: the model.
        pairs: at least one.
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.text, *pair.negatives)))
    row_of = {text: row for row, text in enumerate(texts)}
    answers = defaultdict[str, set[int]](set)
    for pair in pairs:
        answers[pair.query].add(row_of[pair.text])
    vectors = shapes.embed_texts(embedder, texts)  # (N, E, D)
    ranks = np.array([_best_rank(embedder, query, vectors, sorted(rows)) for query, rows in answers.items()])  # (Q,)
    recall = {k: float((ranks <= k).mean()) for k in KS}
    return Evaluation(len(ranks), len(texts), recall, float((1 / ranks).mean()))


def _best_rank(embedder: Embedder, query: str, vectors: np.ndarray, rows: list[int]) -> int:
    """Return the rank from 1 of the best answer. Wrong texts with an equal cosine are ranked before it."""
    cosines = shapes.max_cosines(vectors, shapes.embed_question(embedder, query))  # (N,)
    best = cosines[rows].max()
    cosines[rows] = -np.inf
    return 1 + int((cosines >= best).sum())
