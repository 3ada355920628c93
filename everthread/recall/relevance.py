"""Estimates relevance: turns the signals of a query's candidates into calibrated probabilities. Pure.

The relevance of a hit is computed in four steps:

1. Features: `features` measures the signals of each candidate line, such as its cosine to the question.
2. Profile: the `ScoringProfile` of the recipe (`recipes.default`) weights the signals; their sum is the line's score.
3. Query relevance: `collect_query_features` takes the best signals and the best score of all informative candidates,
   and the profile's `query_model` turns them into the probability that any line of the bank is relevant to the query.
   For relative times ("last week"), the signals of dates don't count. If the probability is below the profile's
   threshold, a context has no hits: this is the relevance gate.
4. Relevance: the profile's `hit_model` turns the line's share of all scores (a softmax) into the probability that this
   line is relevant if any line is. The hit's relevance is the product of both probabilities.

A relevance of 0.33 therefore means: of a hundred such hits in the conversations that the curves were fitted on, about
33 are relevant to their query. `query_model` and `hit_model` are logistic curves, fitted by `everthread bench fit`.
The relevance of units, and of hits of other recipes, is not calibrated: it is the cosine, or a share of words. For a
query that only asks what was said at a time, it is fixed (`time_overview`). `docs/relevance.md` explains an example;
`everthread recall --why` shows the signals of each hit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.recall.candidates import Candidates
from everthread.recall.features import Signals
from everthread.recall.query_parsing import ParsedQuery
from everthread.recall.token_match import UNKNOWN_UNMATCHED
from everthread.text.bm25 import idf
from everthread.text.time_expressions import Span

Floats = npt.NDArray[np.float32]

QUERY_FEATURES = (
    "match",  # the greatest cosine x idf share of the window: similar in meaning and in words at the same place
    "cosine",  # the greatest cosine
    "best_score",  # the best score
    "unknown_name",  # 1 if the question contains a name that never occurs in the bank
    "small_bank",  # 1 for a bank of one line, 0 from SATURATED_LINES on; falls with the log of the lines
    "small_bank_cosine",  # the greatest cosine x small_bank: among few lines even a low cosine is evidence
    "small_bank_score",  # the best score x small_bank
    "uncovered",  # idf mass of the question's terms that the best window lacks: what is asked about the subject
    # The share of the question's words to which no word of the best lines is near in meaning, x (1 - small_bank):
    # few lines have a word near to each.
    "unmatched",
    "query_length",  # log1p of the question's terms: if only words are compared, a long question always finds some
)
DATE_SIGNALS = ("day", "near_day", "month")
SATURATED_LINES = 500  # a bank of this size holds something similar to any question
MAX_LOGIT = 50.0  # from which on a probability is 0 or 1, and its exponential can't overflow


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A logistic curve: the probability is 1 / (1 + exp(-(bias + weights · features)))."""

    bias: float
    weights: Mapping[str, float]

    def predict(self, features: Mapping[str, float]) -> float:
        """Return the probability that these features give."""
        logit = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(min(-logit, MAX_LOGIT)))


def collect_query_features(
    candidates: Candidates, signals: Signals, scores: Floats, unmatched: float = UNKNOWN_UNMATCHED
) -> dict[str, float]:
    """Collect the features of a query from which its relevance is predicted.

    Args:
        candidates: the candidates.
        signals: their signals. Lines without information ("empty") are ignored.
        scores: (C,) their scores.
        unmatched: the share of the question's words to which no word of the best lines is near.

    Returns:
        A value for each of `QUERY_FEATURES`.
    """
    informative = np.flatnonzero(signals["empty"] == 0)
    cosines, shares = signals["cosine"][informative], signals["share_window"][informative]
    cosine = float(cosines.max(initial=0.0))
    best_score = float(scores[informative].max()) if len(informative) else 0.0
    small_bank = 1 - math.log(min(max(candidates.corpus.lines, 1), SATURATED_LINES)) / math.log(SATURATED_LINES)
    return {
        "match": float((cosines * shares).max(initial=0.0)),
        "cosine": cosine,
        "best_score": best_score,
        "unknown_name": float(mentions_unknown_name(candidates)),
        "small_bank": small_bank,
        "small_bank_cosine": small_bank * cosine,
        "small_bank_score": small_bank * best_score,
        "uncovered": _idf_mass(candidates) * (1 - float(shares.max(initial=0.0))),
        "unmatched": unmatched * (1 - small_bank),
        "query_length": math.log1p(len(candidates.parsed.terms)),
    }


def _idf_mass(candidates: Candidates) -> float:
    return sum((idf(posting.df, candidates.corpus.lines) for posting in candidates.postings.values()), 0.0)


def relevance_weights(
    parsed: ParsedQuery, weights: Mapping[str, float], order_only: Collection[str] = ()
) -> Mapping[str, float]:
    """Return the weights of the scores from which relevance is estimated: of relative times, without those of dates.

    Lines said last week are no evidence that the bank can answer a question about last week. The curves were fitted on
    absolute dates only.

    Args:
        parsed: the parsed query.
        weights: the weights of the profile.
        order_only: signals that are no evidence, by which lines are only ordered.
    """
    left_out = {*order_only, *(DATE_SIGNALS if any(isinstance(time, Span) for time in parsed.times) else ())}
    return {name: weight for name, weight in weights.items() if name not in left_out}


def mentions_unknown_name(candidates: Candidates) -> bool:
    """Return whether the question contains a name that never occurs in the bank."""
    absent = {term for term, posting in candidates.postings.items() if not posting.df}
    unknown = absent - candidates.parsed.speaker_terms
    return any(unknown.issuperset(terms) for terms in candidates.parsed.name_terms)


def estimate_relevance(hit_model: LogisticModel, scores: Floats, query_relevance: float) -> Floats:
    """Estimate the relevance of each candidate.

    Args:
        hit_model: maps a candidate's share of the scores to the probability that it is relevant if any line is.
        scores: (C,) the candidates' scores.
        query_relevance: the probability that any line is relevant to the query.

    Returns:
        (C,) the products of both probabilities.
    """
    hit_logits = hit_model.bias + hit_model.weights["score_share"] * log_softmax(scores)
    return np.asarray(query_relevance / (1 + np.exp(np.minimum(-hit_logits, MAX_LOGIT))), np.float32)


def log_softmax(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return (C,) the log of each candidate's share in a softmax over the scores."""
    if not len(scores):
        return scores
    shifted = scores - scores.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))
