"""Rerankers that use a model: another embedder, a cross-encoder, or a scribe."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everthread.bank.validation import check_at_least
from everthread.common.fork_safety import Lock
from everthread.common.installation import extra_command
from everthread.embedders.base import Embedder
from everthread.embedders.calibration import CosineCalibration, measure_calibration
from everthread.embedders.shapes import embed_question, scale_to_unit
from everthread.errors import BadInput, ConfigError, ModelError, ModelNotFound
from everthread.recall.relevance import LogisticModel
from everthread.recall.rerank.base import add_signal, judged_text, sort_by_signal
from everthread.scribes.base import Scribe
from everthread.text.centrality import MMR_LAMBDA, SCORE_DIGITS, Floats, select_by_mmr
from everthread.text.encoding import make_encodable
from everthread.types import Hit

log = logging.getLogger("everthread")

# The probability that a text answers a question, from the shipped model's cosine: fitted on the ten nearest passages to
# each of 1,899 questions of two public sets, measured on others (docs/models.md).
ANSWER_MODEL = LogisticModel(-6.85, {"cosine": 13.37})
UNJUDGED = 0.5  # the number of a hit that the scribe failed to judge, between no (0) and yes (1)


class EmbedderMatch:
    """Orders hits by the cosine of query and text in another embedding model than that of the search, as in goodai-ltm.

    A cosine is from -1 to 1. Of a long text, only the part that the model reads counts. If the model computes several
    vectors for a text or a query, the nearest pair counts. Each call embeds the query and every hit.

    Raises the embedder's errors (EmbedderUnavailable, ModelNotFound), and ModelError for invalid vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._scale: CosineCalibration | None = None  # measured at the first prediction
        self.name = f"match:{embedder.name}"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return the cosine of each passage to a query; 0 for a blank query."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        vectors = _embed_texts(self._embedder, passages)
        cosines = _cosines(vectors, _embed_query(self._embedder, query, vectors.shape[-1]))[:, 0]
        return [float(cosine) for cosine in cosines]

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Estimate for each pair of a query and a text the probability, 0..1, that the text answers the query.

        The curve is that of the shipped model (`ANSWER_MODEL`); cosines of another model are first moved to its scale.
        """
        raw_cosines = score_pairs(self.score, pairs)
        if not raw_cosines:
            return []
        if self._scale is None:
            dim = embed_question(self._embedder, pairs[0][0]).shape[-1]
            self._scale = measure_calibration(self._embedder, dim)
        cosines = self._scale.to_shipped(np.array(raw_cosines, np.float32)).tolist()
        return [ANSWER_MODEL.predict({"cosine": cosine}) for cosine in cosines]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return sort_by_signal(self.name, hits, self.score(query, [judged_text(hit) for hit in hits]))


def score_pairs(
    score: Callable[[str, Sequence[str]], Sequence[float]], pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Score pairs of a query and a text, all texts of one query in one call.

    Returns:
        The scores, in the order of the pairs.
    """
    by_query: dict[str, list[int]] = {}
    for index, (query, _) in enumerate(pairs):
        by_query.setdefault(query, []).append(index)
    scores = [0.0] * len(pairs)
    for query, indexes in by_query.items():
        texts = [pairs[index][1] for index in indexes]
        for index, value in zip(indexes, score(query, texts), strict=True):
            scores[index] = value
    return scores


class MMR:
    """Orders hits by maximal marginal relevance: hits near to the query, and unlike earlier hits, come first.

    Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998. A hit's number is balance · its cosine to the query − (1 − balance) · its greatest cosine to
    an earlier hit, at least 0. Each call embeds the query and every hit. Raises the same errors as EmbedderMatch.
    """

    name = "mmr"

    def __init__(self, embedder: Embedder, balance: float = MMR_LAMBDA, k: int | None = None) -> None:
        """Create the reranker.

        Args:
            embedder: compares the hits.
            balance: from 0 (the most different hits first) to 1 (the nearest first).
            k: hits to keep at most; None: all.

        Raises:
            BadInput: a number is invalid.
        """
        if not 0 <= balance <= 1:
            raise BadInput(f"invalid balance {balance}; expected a number from 0 (different) to 1 (near)")
        self._embedder = embedder
        self._balance = balance
        self._k = None if k is None else check_at_least(k, "k", 1)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by marginal relevance; for a blank query, in their order."""
        if not hits or not query.strip():
            return sort_by_signal(self.name, hits, [0.0] * len(hits))[: self._k]
        vectors = _embed_texts(self._embedder, [judged_text(hit) for hit in hits])
        to_query = _cosines(vectors, _embed_query(self._embedder, query, vectors.shape[-1]))[:, 0]
        order, marginal = self._order(to_query, _cosines(vectors, vectors))
        reranked = [add_signal(hits[index], self.name, number) for index, number in zip(order, marginal, strict=True)]
        return reranked[: self._k]

    def _order(self, to_query: Floats, to_each_other: Floats) -> tuple[list[int], list[float]]:
        """Return the indexes of the hits in order, and the marginal relevance of each."""
        order = select_by_mmr(to_query, to_each_other, lambda _: True, self._balance)
        # (N,) the greatest cosine to an earlier hit, at least 0: np.tril fills the rest with zeros
        redundancy = np.tril(to_each_other[np.ix_(order, order)], -1).max(axis=1)
        return order, (self._balance * to_query[order] - (1 - self._balance) * redundancy).tolist()


class CrossEncoderModel(Protocol):
    """The part of sentence-transformers' CrossEncoder that is used."""

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> npt.ArrayLike:
        """Return the (N,) or (N, 1) scores of the pairs: how well the second text answers the first."""
        ...


class CrossEncoder:
    """Orders hits by a model that reads query and text together: a CrossEncoder of sentence-transformers.

    The number is a probability: the logistic of the model's output. Each call runs the model once for every hit. Raises
    ConfigError without the extra, ModelNotFound if the model can't be loaded, and ModelError if it returns anything but
    one number for each pair.
    """

    def __init__(self, name: str | Path, model: CrossEncoderModel | None = None, device: str | None = None) -> None:
        """Create the reranker; its first use loads the model.

        Args:
            name: a model's name, which the library downloads once, or its folder.
            model: a model that is loaded already. Its numbers are used unchanged.
            device: cuda, cuda:1, mps or cpu; None: the library's choice.
        """
        self.name = f"cross-encoder:{name}"
        self._model_name = str(name)
        self._model = model
        self._device = device
        self._lock = Lock()

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return the model's number for each passage; 0 for a blank query, without a call."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        return self._predict([(query, passage) for passage in passages])

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Estimate for each pair of a query and a text the probability, 0..1, that the text answers the query.

        Raises ModelError also for numbers outside 0..1, which a model that the caller loaded may return.
        """
        probabilities = self._predict(pairs) if pairs else []
        if not all(0 <= number <= 1 for number in probabilities):
            raise ModelError(
                f"{self.name} returned numbers that are not probabilities, such as {max(probabilities, key=abs)}; "
                "load it with activation_fn=torch.nn.Sigmoid()"
            )
        return probabilities

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return sort_by_signal(self.name, hits, self.score(query, [judged_text(hit) for hit in hits]))

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        pairs = [(make_encodable(query), make_encodable(passage)) for query, passage in pairs]
        with self._lock:  # torch modules are not thread-safe
            if self._model is None:
                self._model = self._load()
            outputs = np.asarray(self._model.predict(pairs, show_progress_bar=False), np.float64)
        if outputs.shape not in ((len(pairs),), (len(pairs), 1)):
            raise ModelError(
                f"{self.name} returned numbers of shape {outputs.shape} for {len(pairs)} pairs; use a reranker"
            )
        return [float(number) for number in np.round(outputs.reshape(-1), SCORE_DIGITS)]

    def _load(self) -> CrossEncoderModel:
        try:
            import sentence_transformers
        except ImportError as error:
            extra = extra_command("sentence-transformers")
            raise ConfigError(f"{self.name} needs an extra: {extra} ({error})") from error
        damaged = import_module("safetensors").SafetensorError  # comes with the extra
        try:
            model: CrossEncoderModel = sentence_transformers.CrossEncoder(
                self._model_name, device=self._device, activation_fn=import_module("torch").nn.Sigmoid()
            )
        except (OSError, ValueError, RuntimeError, AssertionError, damaged) as error:
            where = f" on {self._device}" if self._device else ""
            raise ModelNotFound(
                f"{self._model_name!r} can't be loaded{where}; check the name or folder, and the device ({error})"
            ) from error
        return model


class LLMVerdict:
    """Drops the hits that a scribe judges irrelevant to the query; the others keep their order.

    Only the first `max_hits` hits are judged, with one call of the scribe each; the others are dropped. If the scribe
    fails, the failure is logged, and the hits that are not judged yet are kept with the number UNJUDGED: losing a
    memory because a model is down would be worse than showing a doubtful one.
    """

    def __init__(self, scribe: Scribe, max_hits: int = 5) -> None:
        """Create the reranker.

        Args:
            scribe: judges the hits. ExtractiveScribe needs no model.
            max_hits: hits to judge at most.

        Raises:
            BadInput: `max_hits` is below 1.
        """
        self._scribe = scribe
        self._max_hits = check_at_least(max_hits, "max_hits", 1)
        self.name = f"verdict:{scribe.name}"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the relevant hits; for a blank query none, without a call."""
        judged = list(hits[: self._max_hits]) if query.strip() else []
        relevant: list[Hit] = []
        for index, hit in enumerate(judged):
            try:
                is_relevant = self._scribe.is_relevant(query, judged_text(hit))
            except ModelError as error:
                log.warning("%s failed to judge some hits, which are kept: %s", self._scribe.name, error)
                return relevant + [add_signal(unjudged, self.name, UNJUDGED) for unjudged in judged[index:]]
            if is_relevant:
                relevant.append(add_signal(hit, self.name, 1.0))
        return relevant


def _embed_texts(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """Return (N, E, D) the vectors of texts, in double precision: rounding errors must not order equal texts."""
    vectors = np.asarray(embedder.embed(texts), np.float64)  # (N, D) or (N, E, D)
    if vectors.ndim not in (2, 3) or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(
            f"{embedder.name} returned vectors of shape {vectors.shape} for {len(texts)} texts, or not finite ones"
        )
    return scale_to_unit(vectors if vectors.ndim == 3 else vectors[:, None])


def _embed_query(embedder: Embedder, query: str, dim: int) -> Floats:
    """Return (1, Q, D) the vectors of a query, with the dimension of the texts' vectors."""
    vectors = np.asarray(embedder.embed_query(query), np.float64)  # (D,) or (Q, D)
    if vectors.ndim not in (1, 2) or vectors.shape[-1] != dim or not np.isfinite(vectors).all():
        raise ModelError(
            f"{embedder.name} returned a vector of shape {vectors.shape} for a query, or one that is not finite"
        )
    return scale_to_unit(vectors.reshape(1, -1, dim))


def _cosines(ones: Floats, others: Floats) -> Floats:
    """Return the (N, M) cosines of N texts, (N, E, D), to M others, (M, F, D), by the nearest pair of vectors."""
    pairwise = ones.reshape(-1, ones.shape[-1]) @ others.reshape(-1, others.shape[-1]).T  # (N · E, M · F)
    nearest = pairwise.reshape(len(ones), ones.shape[1], len(others), others.shape[1]).max(axis=(1, 3))
    return np.asarray(np.round(nearest, SCORE_DIGITS))
