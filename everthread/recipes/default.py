"""The default recipe: lines as they were said, found by a dozen signals; what measured best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from everthread.recall import features, relevance, time_overview
from everthread.recall.candidates import Candidates
from everthread.recall.reader import BankReader
from everthread.recall.relevance import LogisticModel
from everthread.recall.rerank.base import Reranker
from everthread.recall.types import Query, ScoredLine, SearchResult
from everthread.recipes.base import WIDEST, Recipe
from everthread.recipes.options import option
from everthread.text.analyzer import is_unspaced_script


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """The numbers for one kind of conversation: the signals' weights, the two curves of the gate, and its threshold."""

    weights: Mapping[str, float]
    query_gate: LogisticModel
    hit_model: LogisticModel
    threshold: float  # relevance of the whole from which a context holds anything


# By hand: of 614 such lines in the datasets two are gold. The rest of what a question asked before scores comes to 15.
EMPTY = -10.0

# A dozen constants fitted on LoCoMo's five development conversations: `everthread bench fit locomo PATH`.
_FRIENDS = ScoringProfile(
    weights={
        "cosine": 2.2343,
        "cosine_near": 4.5675,
        "bm25_window": 1.3122,
        "bm25_session": 0.6543,
        "share": 0.6486,
        "asks": -0.6708,
        "length": 0.5834,
        "speaker": 0.5168,
        "day": 4.0596,
        "month": 4.0632,
        "answers": 0.7351,
        "time": 1.4643,
        "empty": EMPTY,
    },
    query_gate=LogisticModel(
        -9.5215,
        {
            "match": 2.1522,
            "cosine": 3.811,
            "top": 0.7872,
            "stranger": -1.4985,
            "small": 4.6784,
            "small_cosine": 23.0512,
            "small_top": -1.0379,
        },
    ),
    hit_model=LogisticModel(0.7599, {"share": 1.025}),
    threshold=0.216,
)

# Fitted on RealMem, with LoCoMo's questions for two fifths of the weight, since people ask an assistant about facts
# too: `everthread bench fit realmem PATH --mix PATH`.
_ASSISTANT = ScoringProfile(
    weights={
        "cosine": 2.2236,
        "cosine_near": 1.5,
        "cosine_session": 3.5429,
        "bm25_window": 0.4304,
        "bm25_session": 0.2438,
        "asks": -0.0925,
        "length": -0.059,
        "person": 1.1275,
        "day": 3.1026,
        "month": 2.6499,
        "time": 1.3271,
        "empty": EMPTY,
    },
    query_gate=LogisticModel(
        -8.5952,
        {
            "match": 2.3089,
            "cosine": 3.1308,
            "top": 1.019,
            "stranger": -1.5133,
            "small": 6.0457,
            "small_cosine": 14.0864,
            "small_top": -1.4431,
        },
    ),
    hit_model=LogisticModel(-0.4552, {"share": 0.6918}),
    threshold=0.187,
)

# For questions that the embedder can't read, as the shipped one Chinese. Fitted on MADial's Chinese dialogues and the
# Chinese firsts: `everthread bench fit madial PATH`. What neither can tell is as among friends.
_WORDS = ScoringProfile(
    weights={
        "bm25_window": 1.7058,
        "share": 7.4084,
        "length": -0.6338,
        "person": 1.1275,
        **{name: _FRIENDS.weights[name] for name in ("asks", "speaker", "day", "month", "empty")},
    },
    query_gate=LogisticModel(-0.9435, {"top": 0.4845, "small": 1.3427, "asked": -0.1732}),
    hit_model=LogisticModel(1.1249, {"share": 1.0814}),
    threshold=0.549,
)


@dataclass(frozen=True, kw_only=True)
class Default(Recipe):
    """Lines as they were said, found by a dozen signals of words, meaning, speakers and times, through a calibrated
    gate, each with its neighbours.

    friends are people among themselves, assistant a person with a bot: what makes a line worth recalling differs
    between the two, and neither's weights serve the other. words are for a question in a script that the embedder
    can't read, of which words alone tell.
    """

    name = "default"
    description = "lines as they were said, found by a dozen signals; what measured best"

    friends: ScoringProfile = _FRIENDS
    assistant: ScoringProfile = _ASSISTANT
    words: ScoringProfile = _WORDS
    neighbours: int = option(1, "Lines on either side by which a hit grows.", low=0, high=WIDEST)
    rerank: Reranker | str = option(
        "",
        "Reranker of hits: keywords, mmr, recency_importance, verdict, em:EMBEDDER or st:NAME; none for no reranking.",
        remote=("", "none", "keywords", "mmr", "recency_importance", "em:minilm"),
    )
    buffer_hits: int = option(3, "Hits whose passages stay in view at the following turns.", low=0)
    overlap: int = option(0, "Lines that stay in the window after they were noted.", low=0)

    def head(self, found: Candidates) -> ScoringProfile:
        """The numbers for a question, chosen by whether a bot is among the speakers, and whether there are vectors."""
        if is_unspaced_script(found.query.text) and np.isnan(found.cosine).all():
            return self.words
        return self.assistant if found.corpus.has_assistant else self.friends

    def recall(self, reader: BankReader, asked: Query, k: int) -> SearchResult:
        found, signals = reader.find_candidates(asked, k)
        head = self.head(found)
        if found.query.asks_for_overview:
            scores = time_overview.compute_scores(found, signals)
            whole = time_overview.OVERVIEW_RELEVANCE if len(scores) else 0.0
            chances = np.full(len(scores), whole)
        else:
            scores = features.weighted_sum(signals, head.weights)
            told = features.weighted_sum(signals, relevance.evidence_weights(found.query, head.weights))
            whole = (
                0.0
                if found.query.is_small_talk
                else head.query_gate.predict(relevance.collect_evidence(found, signals, told))
            )
            chances = relevance.estimate_relevance(head.hit_model, scores, whole)
        best = np.argsort(-scores, kind="stable")[:k].tolist()
        ranked = [
            ScoredLine(
                *(int(found.seqs[at]), float(scores[at]), float(chances[at])),
                {name: float(values[at]) for name, values in signals.items()},
            )
            for at in best
        ]
        hits = reader.read_hits(ranked, self.neighbours, found.allowed, asked.exclude)
        return SearchResult(hits, whole, whole >= head.threshold, found.query.terms, found.allowed)
