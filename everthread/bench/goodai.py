"""Runs goodai-ltm's own evaluation: facts in one memory without separators, and questions within a conversation.

Every fact is a line of one text memory (chunks of 24 tokens that overlap by half and straddle facts). A query is a part
of a chat: the last three texts before the question, said by two names in turn, the question, and the name of the other
speaker, cut from the left to a random length. It counts as answered at k if one of the first k passages holds seven
tenths of the fact (`fuzzy_match`). One retrieval at the largest k gives the results for every k.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from random import Random
from typing import Any

from everthread.bench.fuzzy_match import contains_fact, normalize_tokens
from everthread.bench.goodai_datasets import FactItem
from everthread.bench.metrics import share
from everthread.bench.replay import CachedEmbedder
from everthread.bench.report import to_percents
from everthread.embedders import names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.recall.rerank.models import EmbedderMatch
from everthread.recall.rerank.names import EMBEDDER_PREFIX
from everthread.recipes.goodai import cutting, matching
from everthread.recipes.goodai.text_memory import NONE, TextMemory
from everthread.recipes.goodai.tokenizers import piece_names, word_pieces

KS = (3, 10)
MIN_SCORE = 70.0  # score from which a passage contains the fact
MAX_QUERY_TOKENS = 40
CONTEXT_TURNS = 3  # texts said before the question
SEED = 8001
NAMES = """
    Ada Alice Amir Anna Ben Carla Carlos Chen Clara Daniel David Elena Emma Erik Eva Fatima Felix Grace Hana Helen Ivan
    Jack James Jan Jane Julia Karl Kate Laura Leo Liam Lily Lucas Maria Mark Martin Mary Max Maya Mia Nina Noah Nora
    Oliver Omar Oscar Paul Peter Priya Rachel Rosa Ruth Sam Sara Simon Sofia Thomas Tom Vera Victor Wei Zoe
    """.split()


@dataclass(frozen=True, slots=True)
class PublishedAccuracy:
    """The accuracy that the source publishes for a model, in percent of the questions."""

    model: str
    at3: float
    at10: float


# From goodai-ltm's README: three models of other authors, and the best two of its own.
_MODELS = (
    "openai:text-embedding-ada-002",
    "multi-qa-MiniLM-L6-cos-v1",
    "all-mpnet-base-v2",
    "em-MiniLM-p1-01",
    "em-distilroberta-p5-01",
)
_FIGURES = {
    "qrecc": ((67.09, 76.80), (69.98, 77.57), (70.69, 80.19), (72.43, 79.26), (78.88, 84.44)),
    "strategyqa": ((68.00, 82.40), (73.90, 87.75), (74.50, 87.65), (75.50, 89.00), (87.40, 95.70)),
    "msmarco": ((73.10, 80.14), (70.31, 77.71), (75.00, 81.77), (71.75, 79.60), (79.24, 84.84)),
}
PUBLISHED = {
    dataset: tuple(PublishedAccuracy(model, *pair) for model, pair in zip(_MODELS, pairs, strict=True))
    for dataset, pairs in _FIGURES.items()
}


Accuracy = Mapping[int, float]  # share of the answered questions by k


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The share of answered questions and the duration.

    accuracy is without a matcher; by_factor is with one, by the number of candidates that it scored for each passage.
    """

    dataset: str
    embedder: str
    questions: int
    accuracy: Accuracy
    seconds: float
    matcher: str = ""
    by_factor: Mapping[float, Accuracy] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "embedder": self.embedder,
            "questions": self.questions,
            "accuracy": to_percents(self.accuracy),
            "seconds": round(self.seconds, 1),
            "published": [asdict(accuracy) for accuracy in PUBLISHED[self.dataset]],
            "matcher": self.matcher,
            "by_factor": {f"{factor:g}": to_percents(accuracy) for factor, accuracy in self.by_factor.items()},
        }

    def text(self) -> str:
        rows = [(published.model, published.at3, published.at10) for published in PUBLISHED[self.dataset]]
        rows.append((f"{self.embedder} (measured)", 100 * self.accuracy[3], 100 * self.accuracy[10]))
        rows += [
            (f"  {self.matcher}, factor {factor:g}", 100 * accuracy[3], 100 * accuracy[10])
            for factor, accuracy in self.by_factor.items()
        ]
        width = max(len(name) for name, *_ in rows)
        head = f"goodai-ltm's evaluation on {self.dataset}: {self.questions} questions, {self.seconds:.0f} s"
        table = [f"{'embedder':<{width}}" + "".join(f"{f'@{k}':>8}" for k in KS)]
        table += [f"{name:<{width}}{at3:>8.2f}{at10:>8.2f}" for name, at3, at10 in rows]
        note = "Figures above the measured ones are the source's, on files in another order: comparable, not identical."
        return "\n".join([head, "", *table, "", note])


def evaluate(
    dataset: str,
    items: Sequence[FactItem],
    embedder: Embedder | str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    matcher: str = "",
    factors: Sequence[float] = (),
    as_in_source: bool = False,
) -> EvaluationResult:
    """Store the facts of all items, ask every question, and count the answered ones.

    Args:
        dataset: its name.
        items: facts and questions.
        embedder: an embedder or its name; `none` searches by words.
        progress: called with the number of questions asked, and of all.
        matcher: the name of a matching model, which is also measured, once for each factor.
        factors: candidates that the matcher scores for each passage.
        as_in_source: whether chunks cross the ends of lines and only whole queries are embedded, as in goodai-ltm.

    Raises:
        BadInput: without questions.
        ConfigError: for unknown names.
    """
    if not items:
        raise BadInput(f"{dataset}: there is no question to ask; check the path and --limit")
    started_at = time.perf_counter()
    boundary, alone = (cutting.NONE, False) if as_in_source else (cutting.LINE, True)
    memory = TextMemory.create(embedder, boundary=boundary, question_vector=alone)
    for item in items:
        memory.add_text(item.fact + "\n")
    random = Random(SEED)
    queries = [build_query(item, random) for item in items]
    total = len(items) * (1 + len(factors if matcher else ()))
    done = count(1)
    accuracy = _measure_accuracy(memory, items, queries, lambda: progress(next(done), total))
    by_factor = {}
    if matcher:
        cached, model = _CachedMatcher(matcher), NONE if memory.embedder_name == NONE else embedder
        for factor in factors:
            ways: dict[str, Any] = {"matcher": cached, "reranking_k_factor": factor, "question_vector": alone}
            other = TextMemory.from_text(memory.to_text(), model, **ways)
            by_factor[factor] = _measure_accuracy(other, items, queries, lambda: progress(next(done), total))
    seconds = time.perf_counter() - started_at
    return EvaluationResult(dataset, memory.embedder_name, len(items), accuracy, seconds, matcher, by_factor)


class _CachedMatcher:
    """Caches the scores of a matching model, because every factor needs nearly the same pairs."""

    def __init__(self, name: str) -> None:
        model = matching.resolve_matcher(name)
        if name.startswith(EMBEDDER_PREFIX):
            model = EmbedderMatch(
                CachedEmbedder(names.open_embedder(name.removeprefix(EMBEDDER_PREFIX)), cache_queries=True)
            )
        assert model is not None
        self._model, self._scores = model, dict[tuple[str, str], float]()

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if new := [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]:
            self._scores.update(zip(new, self._model.predict(new), strict=True))
        return [self._scores[pair] for pair in pairs]


def _measure_accuracy(
    memory: TextMemory, items: Sequence[FactItem], queries: Sequence[str], progress: Callable[[], None]
) -> dict[int, float]:
    ranks = []
    for item, query in zip(items, queries, strict=True):
        ranks.append(_find_rank(memory, item, query))
        progress()
    return {k: share(rank is not None and rank < k for rank in ranks) for k in KS}


def _find_rank(memory: TextMemory, item: FactItem, query: str) -> int | None:
    """Return the index of the first passage that contains the fact, or None."""
    fact = normalize_tokens(piece_names(item.fact))
    passages = [match.passage for match in memory.retrieve(query, max(KS))]
    return next(
        (n for n, text in enumerate(passages) if contains_fact(fact, normalize_tokens(piece_names(text)), MIN_SCORE)),
        None,
    )


def build_query(item: FactItem, random: Random) -> str:
    """Return the question as part of a conversation, cut from the left.

    The result has a random length between that of the question's turn, which is thus never cut, and MAX_QUERY_TOKENS. A
    longer turn is cut too.
    """
    names = random.sample(NAMES, 2)
    context = [f"{names[n % 2]}: {text}" for n, text in enumerate(item.context)][-CONTEXT_TURNS:]
    asker, other = (names[(len(item.context) + n) % 2] for n in range(2))
    turn = f"{asker}: {item.question}\n{other}:"
    turn_tokens = len(word_pieces(turn))
    tokens = MAX_QUERY_TOKENS
    if turn_tokens < MAX_QUERY_TOKENS:
        tokens = random.randint(max(turn_tokens, 1), MAX_QUERY_TOKENS)
    conversation = "\n".join([*context, turn])
    return conversation[word_pieces(conversation)[-tokens:][0] :]
