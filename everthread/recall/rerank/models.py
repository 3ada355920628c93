"""Rerankers that ask a model: another embedder, a cross-encoder, a scribe. Each says what it costs.

They know no store, and nothing of how a hit was found but its place in the list.
"""

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
from everthread.embedders.shapes import embed_question
from everthread.errors import BadInput, ConfigError, ModelError, ModelNotFound
from everthread.recall.relevance import LogisticModel
from everthread.recall.rerank.base import add_signal, judged_text, sort_by_signal
from everthread.scribes.base import Scribe
from everthread.text.centrality import MMR_LAMBDA, SCORE_DIGITS, Floats, select_by_mmr
from everthread.text.encoding import make_encodable
from everthread.types import Hit

log = logging.getLogger("everthread")

# The probability that a text answers a question, by the shipped model's cosine: fitted on the ten nearest passages to
# each of 1,899 questions of two public sets, measured on others (docs/models.md).
ANSWER_MODEL = LogisticModel(-6.85, {"cosine": 13.37})
UNJUDGED = 0.5  # the number of a hit of which no verdict could be had: neither a yes nor a no


class EmbedderMatch:
    """By the cosine of the query and the text in another embedding model than the one that searches, as goodai-ltm
    matches. The number is from -1 to 1; a long text is judged by what the model reads of it. Where the model gives
    several vectors a text or a query, the nearest pair counts.

    Costs one embedding of the query and one of each hit, every time. Raises what the embedder raises
    (EmbedderUnavailable, ModelNotFound), and ModelError where it gives vectors that can't be used.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._scale: CosineCalibration | None = None  # of the embedder's cosines, measured at the first prediction
        self.name = f"match:{embedder.name}"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """The cosine of each passage; 0 to a blank query, which means nothing."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        vectors = _vectors(self._embedder, passages)
        cosines = _cosines(vectors, _asked(self._embedder, query, vectors.shape[-1]))[:, 0]
        return [float(cosine) for cosine in cosines]

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Estimates for each pair of a query and a text the probability, 0..1, that the text answers the query.

        It is the shipped model's curve (`ANSWERS`); another model's cosines are first moved to its scale.
        """
        found = score_pairs(self.score, pairs)
        if not found:
            return []
        if self._scale is None:
            dim = embed_question(self._embedder, pairs[0][0]).shape[-1]
            self._scale = measure_calibration(self._embedder, dim)
        cosines = self._scale.to_shipped(np.array(found, np.float32)).tolist()
        return [ANSWER_MODEL.predict({"cosine": cosine}) for cosine in cosines]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return sort_by_signal(self.name, hits, self.score(query, [judged_text(hit) for hit in hits]))


def score_pairs(
    score: Callable[[str, Sequence[str]], Sequence[float]], pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Scores pairs of a query and a text, all texts of one query together; the scores are in the order of the pairs."""
    places: dict[str, list[int]] = {}
    for place, (query, _) in enumerate(pairs):
        places.setdefault(query, []).append(place)
    found = [0.0] * len(pairs)
    for query, own in places.items():
        for place, value in zip(own, score(query, [pairs[place][1] for place in own]), strict=True):
            found[place] = value
    return found


class MMR:
    """By maximal marginal relevance: always the hit that is nearest to the query and least like those before it.

    Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998. A hit's number is balance · its cosine to the query − (1 − balance) · its greatest cosine to
    a hit before it; below 0, unlike is as good as unrelated. balance 1 asks for the nearest, 0 for the most different;
    k is how many are kept, None all. Costs one embedding of the query and one of each hit, every time. Raises BadInput,
    and what EmbedderMatch raises.
    """

    name = "mmr"

    def __init__(self, embedder: Embedder, balance: float = MMR_LAMBDA, k: int | None = None) -> None:
        if not 0 <= balance <= 1:
            raise BadInput(f"balance can't be {balance}; give a number from 0 (different) to 1 (near)")
        self._embedder = embedder
        self._balance = balance
        self._k = None if k is None else check_at_least(k, "k", 1)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """A blank query leaves the order as it is."""
        if not hits or not query.strip():
            return sort_by_signal(self.name, hits, [0.0] * len(hits))[: self._k]
        vectors = _vectors(self._embedder, [judged_text(hit) for hit in hits])
        worth = _cosines(vectors, _asked(self._embedder, query, vectors.shape[-1]))[:, 0]
        order, marginal = self._chosen(worth, _cosines(vectors, vectors))
        return [add_signal(hits[place], self.name, number) for place, number in zip(order, marginal, strict=True)][
            : self._k
        ]

    def _chosen(self, worth: Floats, near: Floats) -> tuple[list[int], list[float]]:
        """The places in order, and the marginal relevance that each had when it was chosen."""
        order = select_by_mmr(worth, near, lambda _: True, self._balance)
        before = np.tril(near[np.ix_(order, order)], -1).max(
            axis=1
        )  # (N,) at least 0, which stands beside the diagonal
        return order, (self._balance * worth[order] - (1 - self._balance) * before).tolist()


class CrossEncoderModel(Protocol):
    """What is used of sentence-transformers' CrossEncoder."""

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> npt.ArrayLike:
        """(N,) or (N, 1) how well the second text of each pair answers the first."""
        ...


class CrossEncoder:
    """By a model that reads query and text together: sentence-transformers' CrossEncoder, as goodai-ltm's "st:" names.

    name is a model's name, which that library downloads once, or its folder; the first reranking loads it, onto device
    (`cuda`, `cuda:1`, `mps`, `cpu`; None: that library's choice). The number is a probability, the logistic of the
    model's output. model is one that is loaded already, whose numbers are its own.
    Costs one pass of the model over each hit, every time. Raises ConfigError without the extra,
    ModelNotFound where the model can't be loaded, ModelError where it gives anything but one number a pair.
    """

    def __init__(self, name: str | Path, model: CrossEncoderModel | None = None, device: str | None = None) -> None:
        self.name = f"cross-encoder:{name}"
        self._model_name = str(name)
        self._model = model
        self._device = device
        self._lock = Lock()

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """The model's number for each passage; 0 for a blank query, of which it is not asked."""
        if not passages or not query.strip():
            return [0.0] * len(passages)
        return self._numbers([(query, passage) for passage in passages])

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Estimates for each pair of a query and a text the probability, 0..1, that the text answers the query.

        Raises ModelError also for numbers outside 0..1, which a model that was loaded elsewhere may give.
        """
        found = self._numbers(pairs) if pairs else []
        if not all(0 <= number <= 1 for number in found):
            raise ModelError(
                f"{self.name} gave numbers that are no probabilities, such as {max(found, key=abs)}; "
                "load it with activation_fn=torch.nn.Sigmoid()"
            )
        return found

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return sort_by_signal(self.name, hits, self.score(query, [judged_text(hit) for hit in hits]))

    def _numbers(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        pairs = [(make_encodable(query), make_encodable(passage)) for query, passage in pairs]
        with self._lock:  # torch modules make no promise about threads
            if self._model is None:
                self._model = self._loaded()
            found = np.asarray(self._model.predict(pairs, show_progress_bar=False), np.float64)
        if found.shape not in ((len(pairs),), (len(pairs), 1)):
            raise ModelError(f"{self.name} gave numbers of shape {found.shape} for {len(pairs)} pairs; use a reranker")
        return [float(number) for number in np.round(found.reshape(-1), SCORE_DIGITS)]

    def _loaded(self) -> CrossEncoderModel:
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
    """Keeps the hits of which a scribe says that they bear on the query, in the order given.

    The best `asked` hits are asked about and the rest dropped, so it costs at most that many of the scribe's calls, one
    after the other; ExtractiveScribe's cost nothing. Where the scribe fails, that is logged, nothing more is asked, and
    the hits of these that were not judged yet are kept with the number UNASKED: to lose a memory because a model is
    down would be worse than to have a doubtful one. Raises BadInput for less than one hit to ask about.
    """

    def __init__(self, scribe: Scribe, max_hits: int = 5) -> None:
        self._scribe = scribe
        self._max_hits = check_at_least(max_hits, "max_hits", 1)
        self.name = f"verdict:{scribe.name}"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Nothing bears on a blank query, and nobody is asked."""
        asked = list(hits[: self._max_hits]) if query.strip() else []
        kept: list[Hit] = []
        for place, hit in enumerate(asked):
            try:
                bears = self._scribe.is_relevant(query, judged_text(hit))
            except ModelError as error:
                log.warning("hits are kept that %s could not judge: %s", self._scribe.name, error)
                return kept + [add_signal(each, self.name, UNJUDGED) for each in asked[place:]]
            if bears:
                kept.append(add_signal(hit, self.name, 1.0))
        return kept


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """(N, E, D) in double precision, for sums that differ by their order alone must not tell equals apart."""
    vectors = np.asarray(embedder.embed(texts), np.float64)  # (N, D) or (N, E, D)
    if vectors.ndim not in (2, 3) or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.name} gave vectors of shape {vectors.shape} for {len(texts)} texts, or not finite")
    return vectors if vectors.ndim == 3 else vectors[:, None]


def _asked(embedder: Embedder, query: str, dimensions: int) -> Floats:
    """(1, Q, D) of a query, with as many dimensions as the texts have."""
    asked = np.asarray(embedder.embed_query(query), np.float64)  # (D,) or (Q, D)
    if asked.ndim not in (1, 2) or asked.shape[-1] != dimensions or not np.isfinite(asked).all():
        raise ModelError(f"{embedder.name} gave a vector of shape {asked.shape} for a query, or one that is not finite")
    return asked.reshape(1, -1, dimensions)


def _cosines(ones: Floats, others: Floats) -> Floats:
    """(N, M) of N texts, (N, E, D), to M others, (M, F, D): that of the nearest pair of their vectors."""
    every = ones.reshape(-1, ones.shape[-1]) @ others.reshape(-1, others.shape[-1]).T  # (N · E, M · F)
    found = every.reshape(len(ones), ones.shape[1], len(others), others.shape[1]).max(axis=(1, 3))
    return np.asarray(np.round(found, SCORE_DIGITS))
