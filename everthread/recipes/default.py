"""The default recipe: lines as they were said, found by twenty-five signals. It scored best in our benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everthread.recall import features, relevance, statements, time_overview
from everthread.recall.candidate_reader import CandidateReader
from everthread.recall.candidates import Candidates
from everthread.recall.diversity import penalize_repeats
from everthread.recall.occasion import score_times
from everthread.recall.query_parsing import ParsedQuery
from everthread.recall.reader import BankReader
from everthread.recall.relevance import LogisticModel
from everthread.recall.rerank.base import Reranker
from everthread.recall.types import Query, RankedLines, ScoredLine, SearchResult
from everthread.recipes.base import FACTS_MEANING, MAX_NEIGHBOURS, Recipe
from everthread.recipes.options import option
from everthread.stores.arrays import find_greatest
from everthread.text.analyzer import UNSPACED_LANGUAGES
from everthread.text.gloss import is_glossed
from everthread.text.lexicon import ENGLISH
from everthread.types import Role


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """The fitted numbers for one kind of conversation.

    Attributes:
        weights: the weights of the signals, by name.
        query_model: predicts the query relevance.
        hit_model: predicts for each line the probability that it is relevant if any line is.
        threshold: query relevance below which the relevance gate drops all hits.
        order_only: signals that order the lines, but are no evidence that any of them is relevant.
        session_penalty: for broad questions, what the second line of a session loses (`diversity.penalize_repeats`).
        message_weights: how much more each signal weighs for a long message than for a short question; between the two
            in proportion (`ParsedQuery.message_share`). As evidence, it weighs the same in both. Signals that are only
            here have no weight for a question.
    """

    weights: Mapping[str, float]
    query_model: LogisticModel
    hit_model: LogisticModel
    threshold: float
    order_only: frozenset[str] = frozenset()
    session_penalty: float = 0.0
    message_weights: Mapping[str, float] = field(default_factory=dict)

    def weigh(self, parsed: ParsedQuery) -> Mapping[str, float]:
        """Return the weights of the signals for one query."""
        share = parsed.message_share
        if not share or not self.message_weights:
            return self.weights
        weights = {**dict.fromkeys(self.message_weights, 0.0), **self.weights}
        return {name: weight + share * self.message_weights.get(name, 0.0) for name, weight in weights.items()}


# The weight of lines that only ask or are small talk, set by hand: of 614 in the datasets, two answer a question. By
# its other signals such a line can score 15.
EMPTY_WEIGHT = -10.0
# Of a lasting fact that bears on a request for advice, set by hand on the banks of `everthread bench requests`.
STANDING_WEIGHT = 4.0
# Of a request for food, if the bank knows of a diet: with that weight alone small banks kept silent.
DIET_RELEVANCE = 0.6

# By words alone, set by hand: only the order of lines that share no word with the question depends on it. In a bank of
# six lines the shorter ones answer more often; with 0, three of 140 everyday questions had another line first.
LENGTH_TIE_WEIGHT = -0.01

# A good session, or a statement in the first person, is no evidence that a line answers: with these signals in the best
# score, the gate let in 24.7 instead of 20.8% at 99% kept.
FRIENDS_ORDER_ONLY = frozenset(("cosine_session", "first_person", "experience"))

# Chosen on LoCoMo among 0.15, 0.25, 0.5 and 1: with 1, lines that answer alone fell out of the first five. With an
# assistant any penalty recalls less, because several lines that answer are often in one session.
FRIENDS_SESSION_PENALTY = 0.5

# The second of two lines with the same text loses this, set by hand: with 1, days on which the same was said fell out
# of contexts. A broad question ("How many times …?") wants them all.
REPEAT_PENALTY = 0.5

# Weights, curves and threshold were fitted on LoCoMo's development conversations: `everthread bench fit locomo PATH`.
_FRIENDS_PROFILE = ScoringProfile(
    weights={
        "cosine": 2.6096,
        "cosine_near": 0.1951,
        "cosine_window": 5.7238,
        "cosine_session": 3.9595,
        "bm25_window": 0.8526,
        "bm25_nearby": 0.2279,
        "bm25_session": 0.3501,
        "share": 0.6396,
        "asks": -0.5979,
        "length": 0.586,
        "speaker": 0.4022,
        "day": 2.3961,
        "near_day": 2.4473,
        "month": 3.3496,
        "answers": 0.4953,
        "time": 1.2334,
        "first_person": 0.1911,
        "experience": 0.6531,
        "token_match": 5.2942,
        "empty": EMPTY_WEIGHT,
        "standing": STANDING_WEIGHT,
    },
    query_model=LogisticModel(
        -8.1334,
        {
            "cosine": 6.1889,
            "best_score": 0.694,
            "unknown_name": -1.8243,
            "small_bank": 3.0551,
            "small_bank_cosine": 17.216,
            "small_bank_score": -0.6002,
            "unmatched": -0.8519,
        },
    ),
    hit_model=LogisticModel(0.8654, {"score_share": 1.012}),
    threshold=0.283,
    order_only=FRIENDS_ORDER_ONLY,
    session_penalty=FRIENDS_SESSION_PENALTY,
)

# Fitted on RealMem, with LoCoMo's questions for two fifths of the weight, since people ask an assistant about facts
# too: `everthread bench fit realmem PATH --mix PATH`.
_ASSISTANT_PROFILE = ScoringProfile(
    weights={
        "cosine": 3.2236,
        "cosine_near": 2.0984,
        "cosine_window": 2.6925,
        "cosine_session": 4.1676,
        "bm25_window": 0.7319,
        "bm25_session": 0.2902,
        "asks": -0.2143,
        "length": 0.1619,
        "person": 0.6435,
        "answers": 0.3657,
        "first_person": 0.534,
        "experience": 0.8172,
        "token_match": 6.0272,
        "day": 1.8294,
        "near_day": 0.9379,
        "month": 1.8169,
        "time": 0.4,
        "empty": EMPTY_WEIGHT,
        "standing": STANDING_WEIGHT,
    },
    message_weights={
        "cosine": -3.2827,
        "cosine_near": -2.1969,
        "cosine_window": -2.0216,
        "cosine_session": -0.0674,
        "bm25_window": -0.6902,
        "bm25_session": -0.0857,
        "asks": 0.2978,
        "length": 0.028,
        "person": 0.3293,
        "answers": -0.516,
        "first_person": -0.176,
        "experience": -0.9598,
        "token_match": -8.5239,
        "opening": 2.0757,
        "age": -0.3598,
    },
    query_model=LogisticModel(
        -8.6558,
        {
            "match": -0.2307,
            "cosine": 3.3013,
            "best_score": 0.8391,
            "unknown_name": -1.185,
            "small_bank": 6.1523,
            "small_bank_cosine": 19.4964,
            "small_bank_score": -1.1412,
            "uncovered": -0.0192,
            "unmatched": -1.6249,
        },
    ),
    hit_model=LogisticModel(0.8958, {"score_share": 0.9748}),
    threshold=0.267,
)

# For Japanese questions, and Chinese ones without vectors, whose terms are characters and pairs of them. Fitted on
# MADial's Chinese dialogues and the Chinese first facts: `everthread bench fit madial PATH --by characters`. Weights
# that neither can determine are those of friends without late interaction.
_CHARACTERS_PROFILE = ScoringProfile(
    weights={
        "bm25_window": 1.7058,
        "share": 7.4084,
        "length": -0.6338,
        "person": 1.1275,
        "asks": -0.5826,
        "speaker": 0.4005,
        "day": 2.1389,
        "near_day": 2.5581,
        "month": 3.5805,
        "empty": EMPTY_WEIGHT,
        "standing": STANDING_WEIGHT,
    },
    query_model=LogisticModel(-0.9435, {"best_score": 0.4845, "small_bank": 1.3427, "query_length": -0.1732}),
    hit_model=LogisticModel(1.1249, {"score_share": 1.0814}),
    threshold=0.549,
)

# For questions in other languages that the embedder can't read. Fitted on the same and on our corpus in five of them:
# `everthread bench fit madial PATH --by words`. The remaining weights are those for characters.
_WORDS_PROFILE = ScoringProfile(
    weights={
        **_CHARACTERS_PROFILE.weights,
        "bm25_window": 1.4517,
        "bm25_session": 0.3794,
        "share": 4.4243,
        "length": LENGTH_TIE_WEIGHT,
        "person": 1.8034,
    },
    query_model=LogisticModel(-1.0972, {"best_score": 0.5379, "small_bank": 0.5243, "query_length": -0.4363}),
    hit_model=LogisticModel(0.8857, {"score_share": 1.0127}),
    threshold=0.57,
)

# For questions of which the embedder reads only an English gloss. Fitted like those for characters, without `--by`.
_GLOSSES_PROFILE = ScoringProfile(
    weights={
        **_CHARACTERS_PROFILE.weights,
        "cosine": 11.0983,
        "bm25_window": 1.0632,
        "share": 3.4338,
        "length": -0.4727,
    },
    query_model=LogisticModel(-3.2306, {"best_score": 0.7414, "small_bank": 2.2892, "query_length": -0.2837}),
    hit_model=LogisticModel(1.24, {"score_share": 1.0919}),
    threshold=0.623,
)


@dataclass(frozen=True, kw_only=True)
class Default(Recipe):
    """Finds lines as they were said by twenty-five signals of words, meaning, speakers and times.

    Each hit is shown with its neighbours. If no line is relevant, the calibrated relevance gate leaves contexts empty.

    Attributes:
        friends: the profile for people among themselves.
        assistant: the profile for a person with a bot, whose conversations need other weights.
        words: the profile for a question in a language that the embedder can't read, so that only words count.
        characters: the same for Japanese, and for Chinese without a gloss.
        glosses: the profile for a Chinese question, of which an embedder for English reads a gloss.
    """

    name = "default"
    description = "lines as they were said, found by twenty-five signals; scored best in our benchmarks"
    corrects_spelling = True
    reads_facts = True

    friends: ScoringProfile = _FRIENDS_PROFILE
    assistant: ScoringProfile = _ASSISTANT_PROFILE
    words: ScoringProfile = _WORDS_PROFILE
    characters: ScoringProfile = _CHARACTERS_PROFILE
    glosses: ScoringProfile = _GLOSSES_PROFILE
    neighbours: int = option(1, "Lines on either side that are shown with a hit.", low=0, high=MAX_NEIGHBOURS)
    min_gain: float = option(
        0.08,
        "Least share of what a query can be expected to find that a line must add for its share of the budget.",
        low=0,
    )
    rerank: Reranker | str = option(
        "",
        "Reranker of hits: keywords, mmr, recency_importance, verdict, em:EMBEDDER or st:NAME; none for no reranking.",
        remote=("", "none", "keywords", "mmr", "recency_importance", "em:minilm"),
    )
    buffer_hits: int = option(3, "Number of hits whose passages stay in the prompt for the following turns.", low=0)
    late_interaction: bool = option(
        True, "Store the vectors of people's words, about 300 bytes a line, and compare them with the question's."
    )
    facts: bool = option(False, FACTS_MEANING)
    profile: bool = option(
        False, "Whether the prompt of a chat has a short profile of the person: a few sentences of what is known."
    )
    overlap: int = option(0, "Lines that stay in the window although the notes already cover them.", low=0)

    @property
    def token_roles(self) -> tuple[Role, ...]:
        return ("user",) if self.late_interaction else ()

    def choose_profile(self, candidates: Candidates, multilingual: bool) -> ScoringProfile:
        """Choose the profile by whether the embedder reads the question, and whether a bot is among the speakers."""
        has_cosines = not np.isnan(candidates.cosine).all()
        if candidates.parsed.language != ENGLISH and not (multilingual and has_cosines):
            if has_cosines and is_glossed(candidates.parsed.text):
                return self.glosses
            return self.characters if candidates.parsed.language in UNSPACED_LANGUAGES else self.words
        return self.assistant if candidates.corpus.has_assistant else self.friends

    def prepare(self, reader: BankReader, text: str) -> None:
        """Begin to embed the query."""
        reader.begin_query(text)

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        """Find the best lines by the profile. Overview questions (`time_overview`) bypass it."""
        return reader.search(query, self.neighbours, lambda candidates: self._rank(candidates, query, k))

    def _rank(self, reader: CandidateReader, query: Query, k: int) -> RankedLines:
        """Measure and score the candidates for a query, and return the best k."""
        candidates, signals = reader.measure_candidates(query, k)
        profile = self.choose_profile(candidates, reader.encoder.embedder.multilingual)
        if candidates.parsed.asks_for_overview:
            scored = _score_overview(candidates, signals)
        else:
            scored = _score(reader, profile, candidates, signals)
        result = SearchResult(
            [],
            scored.query_relevance,
            scored.query_relevance >= profile.threshold,
            candidates.parsed.terms,
            candidates.allowed,
            calibrated=not candidates.parsed.asks_for_overview,
            is_overview=candidates.parsed.asks_for_overview,
        )
        return RankedLines(_select_best(candidates, scored, k), result)


class _Scored(NamedTuple):
    """The scores of C candidates, and the query relevance."""

    signals: features.Signals
    scores: npt.NDArray[np.floating]  # (C,)
    hit_relevances: npt.NDArray[np.floating]  # (C,)
    query_relevance: float


def _score_overview(candidates: Candidates, signals: features.Signals) -> _Scored:
    """Score candidates for a question that only asks what was said at a time."""
    scores = time_overview.compute_scores(candidates, signals)
    query_relevance = time_overview.OVERVIEW_RELEVANCE if len(scores) else 0.0
    return _Scored(signals, scores, np.full(len(scores), query_relevance), query_relevance)


def _score(
    reader: CandidateReader, profile: ScoringProfile, candidates: Candidates, signals: features.Signals
) -> _Scored:
    """Score candidates by a profile."""
    parsed, weights = candidates.parsed, profile.weigh(candidates.parsed)
    signals, unmatched, text_groups = reader.measure_best(candidates, signals, weights)
    weights_of_relevance = relevance.relevance_weights(parsed, profile.weights, profile.order_only)
    scores, relevance_scores = features.weighted_sums(signals, weights, weights_of_relevance)
    query_relevance = 0.0
    if not parsed.is_small_talk:
        query_features = relevance.collect_query_features(candidates, signals, relevance_scores, unmatched)
        query_relevance = profile.query_model.predict(query_features)
    if "standing" in signals and (signals["standing"] == statements.DIET).any():
        query_relevance = max(query_relevance, DIET_RELEVANCE)
    if parsed.occasion is not None:
        scores = scores + score_times(candidates.rows.lines["said_at"][candidates.row_indexes], parsed.occasion)
    if parsed.is_broad and profile.session_penalty:
        sessions = candidates.rows.lines["session"][candidates.row_indexes]
        scores = penalize_repeats(scores, sessions, profile.session_penalty)
    elif text_groups is not None and not parsed.is_broad:
        scores = penalize_repeats(scores, text_groups, REPEAT_PENALTY)
    hit_relevances = relevance.estimate_relevance(profile.hit_model, scores, query_relevance)
    return _Scored(signals, scores, hit_relevances, query_relevance)


def _select_best(candidates: Candidates, scored: _Scored, k: int) -> list[ScoredLine]:
    """Return the k lines of the greatest scores, best first."""
    best = find_greatest(scored.scores, k)
    numbers = candidates.seqs[best].tolist(), scored.scores[best].tolist(), scored.hit_relevances[best].tolist()
    of_best = zip(*(values[best].tolist() for values in scored.signals.values()), strict=True)  # a row of signals each
    return [
        ScoredLine(seq, score, relevance_of_line, dict(zip(scored.signals, row, strict=True)))
        for seq, score, relevance_of_line, row in zip(*numbers, of_best, strict=True)
    ]
