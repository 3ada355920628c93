"""Finds hard negatives: texts that the base model ranks high for a question although they don't answer it.

After ANCE (Xiong et al. 2021, "Approximate nearest neighbor negative contrastive learning for dense text retrieval"),
with the base model for the whole training. Many texts answer another pair's question as well, such as all hobbies the
question for someone's hobbies. Two rules leave them out: a text nearly as near as the answer (TopK-PercPos of
NV-Retriever, Moreira et al. 2024), and the text of a question nearer than the answer (GISTEmbed, Solatorio 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from everthread.embedders.base import Embedder
from everthread.training.pairs import Pair
from everthread.types import Vectors

MAX_SHARE_OF_ANSWER = 0.95  # of the answer's cosine; a text above it may answer the question as well


class Guide:
    """Judges by the base model, of one vector a text, which texts may answer the questions of other pairs."""

    def __init__(self, pairs: Sequence[Pair], base: Embedder) -> None:
        self._pairs = pairs
        self._questions = _embed_once(base, [pair.query for pair in pairs])  # (P, D)
        self._texts = _embed_once(base, [pair.text for pair in pairs])  # (P, D)
        self._answers = (self._questions * self._texts).sum(1)  # (P,) cosine of each question to its answer

    def find_answers(self, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return (R, C) whether the text of each pair of `columns` may answer the question of each pair of `rows`."""
        questions, answers = self._questions[rows], self._answers[rows, None]
        near_text = questions @ self._texts[columns].T > MAX_SHARE_OF_ANSWER * answers
        return np.asarray(near_text | (questions @ self._questions[columns].T > answers))

    def add_negatives(self, count: int) -> list[Pair]:
        """Return the pairs with `count` negatives each, if there are enough texts; given ones come first."""
        everything = np.arange(len(self._pairs))
        added: list[Pair] = []
        for row, pair in enumerate(self._pairs):
            cosines = self._texts @ self._questions[row]  # (P,)
            cosines[self.find_answers(everything[row : row + 1], everything)[0]] = -np.inf
            nearest = np.argsort(-cosines, kind="stable")[: 4 * count]  # more, because pairs may share a text
            mined = [self._pairs[index].text for index in nearest if np.isfinite(cosines[index])]
            negatives = dict.fromkeys((*pair.negatives, *mined))
            added.append(replace(pair, negatives=tuple(negatives)[:count]))
        return added


def _embed_once(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts, each of which is embedded once."""
    unique = list(dict.fromkeys(texts))
    row_of = {text: row for row, text in enumerate(unique)}
    return embedder.embed(unique)[[row_of[text] for text in texts]]
