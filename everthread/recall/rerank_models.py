"""Rerankers that ask a model: another embedder, a cross-encoder, a scribe. Each says what it costs.

They know no store, and nothing of how a hit was found but its place in the list.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everthread.checks import whole
from everthread.errors import BadInput, ConfigError, ModelError, ModelNotFound
from everthread.forks import Lock
from everthread.installation import install_extra
from everthread.models.embed import Embedder, clean
from everthread.models.scribe import Scribe
from everthread.observe.centrality import BALANCE, DIGITS, Floats, mmr
from everthread.recall.rerank import marked, ordered, text_of
from everthread.types import Hit

log = logging.getLogger("everthread")

UNASKED = 0.5  # the number of a hit of which no verdict could be had: neither a yes nor a no


class EmbedderMatch:
    """By the cosine of the query and the text in another embedding model than the one that searches, as goodai-ltm
    matches. The number is from -1 to 1; a long text is judged by what the model reads of it.

    Costs one embedding of the query and one of each hit, every time. Raises what the embedder raises
    (EmbedderUnavailable, ModelNotFound), and ModelError where it gives vectors that can't be used.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = f"match:{embedder.name}"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """The cosine of each passage; 0 to a blank query, which means nothing."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        return [float(cosine) for cosine in _cosines(self._embedder, query, _vectors(self._embedder, passages))]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return ordered(self.name, hits, self.score(query, [text_of(hit) for hit in hits]))


class MMR:
    """By maximal marginal relevance: always the hit that is nearest to the query and least like those before it.

    Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998. A hit's number is balance · its cosine to the query − (1 − balance) · its greatest cosine to
    a hit before it; below 0, unlike is as good as unrelated. balance 1 asks for the nearest, 0 for the most different;
    k is how many are kept, None all. Costs one embedding of the query and one of each hit, every time. Raises BadInput,
    and what EmbedderMatch raises.
    """

    name = "mmr"

    def __init__(self, embedder: Embedder, balance: float = BALANCE, k: int | None = None) -> None:
        if not 0 <= balance <= 1:
            raise BadInput(f"balance can't be {balance}; give a number from 0 (different) to 1 (near)")
        self._embedder = embedder
        self._balance = balance
        self._k = None if k is None else whole(k, "k", 1)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """A blank query leaves the order as it is."""
        if not hits or not query.strip():
            return ordered(self.name, hits, [0.0] * len(hits))[: self._k]
        vectors = _vectors(self._embedder, [text_of(hit) for hit in hits])  # (N, D)
        order, marginal = self._chosen(_cosines(self._embedder, query, vectors), np.round(vectors @ vectors.T, DIGITS))
        return [marked(hits[place], self.name, number) for place, number in zip(order, marginal, strict=True)][
            : self._k
        ]

    def _chosen(self, worth: Floats, near: Floats) -> tuple[list[int], list[float]]:
        """The places in order, and the marginal relevance that each had when it was chosen."""
        order = mmr(worth, near, lambda _: True, self._balance)
        before = np.tril(near[np.ix_(order, order)], -1).max(
            axis=1
        )  # (N,) at least 0, which stands beside the diagonal
        return order, (self._balance * worth[order] - (1 - self._balance) * before).tolist()


class Predicts(Protocol):
    """What is used of sentence-transformers' CrossEncoder."""

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> npt.ArrayLike:
        """(N,) or (N, 1) how well the second text of each pair answers the first."""
        ...


class CrossEncoder:
    """By a model that reads query and text together: sentence-transformers' CrossEncoder, as goodai-ltm's "st:" names.

    name is a model's name, which that library downloads once, or its folder; the first reranking loads it. The number
    is the model's own: a chance from 0 to 1 or a logit, as it was trained. model is one that is loaded already.
    Costs one pass of the model over each hit, every time. Raises ConfigError without the extra,
    ModelNotFound where the model can't be loaded, ModelError where it gives anything but one number a pair.
    """

    def __init__(self, name: str | Path, model: Predicts | None = None) -> None:
        self.name = f"cross-encoder:{name}"
        self._model_name = str(name)
        self._model = model
        self._lock = Lock()

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """The model's number for each passage; 0 for a blank query, of which it is not asked."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        pairs = [(clean(query), clean(passage)) for passage in passages]
        with self._lock:  # torch modules make no promise about threads
            if self._model is None:
                self._model = self._loaded()
            found = np.asarray(self._model.predict(pairs, show_progress_bar=False), np.float64)
        if found.shape not in ((len(pairs),), (len(pairs), 1)):
            raise ModelError(f"{self.name} gave numbers of shape {found.shape} for {len(pairs)} pairs; use a reranker")
        return [float(number) for number in np.round(found.reshape(-1), DIGITS)]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return ordered(self.name, hits, self.score(query, [text_of(hit) for hit in hits]))

    def _loaded(self) -> Predicts:
        try:
            import sentence_transformers
        except ImportError as error:
            extra = install_extra("sentence-transformers")
            raise ConfigError(f"{self.name} needs an extra: {extra} ({error})") from error
        damaged = import_module("safetensors").SafetensorError  # comes with the extra
        try:
            model: Predicts = sentence_transformers.CrossEncoder(self._model_name)
        except (OSError, ValueError, RuntimeError, damaged) as error:
            raise ModelNotFound(f"{self._model_name!r} can't be loaded; check the name or folder ({error})") from error
        return model


class LLMVerdict:
    """Keeps the hits of which a scribe says that they bear on the query, in the order given.

    The best `asked` hits are asked about and the rest dropped, so it costs at most that many of the scribe's calls, one
    after the other; ExtractiveScribe's cost nothing. Where the scribe fails, that is logged, nothing more is asked, and
    the hits of these that were not judged yet are kept with the number UNASKED: to lose a memory because a model is
    down would be worse than to have a doubtful one. Raises BadInput for less than one hit to ask about.
    """

    def __init__(self, scribe: Scribe, asked: int = 5) -> None:
        self._scribe = scribe
        self._asked = whole(asked, "asked", 1)
        self.name = f"verdict:{scribe.name}"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Nothing bears on a blank query, and nobody is asked."""
        asked = list(hits[: self._asked]) if query.strip() else []
        kept: list[Hit] = []
        for place, hit in enumerate(asked):
            try:
                bears = self._scribe.relevant(query, text_of(hit))
            except ModelError as error:
                log.warning("hits are kept that %s could not judge: %s", self._scribe.name, error)
                return kept + [marked(each, self.name, UNASKED) for each in asked[place:]]
            if bears:
                kept.append(marked(hit, self.name, 1.0))
        return kept


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """(N, D) in double precision, for sums that differ by their order alone must not tell equals apart."""
    vectors = np.asarray(embedder.embed(texts), np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.name} gave vectors of shape {vectors.shape} for {len(texts)} texts, or not finite")
    return vectors


def _cosines(embedder: Embedder, query: str, vectors: Floats) -> Floats:
    """(N,) of the vectors to the query's."""
    asked = np.asarray(embedder.embed_query(query), np.float64)  # (D,)
    if asked.shape != vectors.shape[1:] or not np.isfinite(asked).all():
        raise ModelError(f"{embedder.name} gave a vector of shape {asked.shape} for a query, or one that is not finite")
    found: Floats = np.round(vectors @ asked, DIGITS)
    return found
