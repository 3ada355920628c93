"""Is anything relevant? From raw signals to a calibrated relevance in 0..1. Pure.

Two logistic curves. One judges the query as a whole from absolute pieces of evidence, so that a question about
what was never said injects nothing, even when some line must come first; it also scales the relevance of every hit. The
other gives each hit its chance to bear on the query. Both are fitted by `everthread bench fit`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.recall.candidates import Candidates
from everthread.recall.features import Signals
from everthread.recall.query_parsing import ParsedQuery
from everthread.text.time_expressions import Span

Floats = npt.NDArray[np.float32]

EVIDENCE_NAMES = (
    "match",  # the greatest cosine x idf share of the window: near in meaning and in words at the same place
    "cosine",  # the greatest cosine, whatever the words
    "top",  # the best score
    "stranger",  # the question contains a name that never occurs in the bank
    "small",  # how far the bank is from SATURATED_LINES, on a log scale: 1 for a bank of one line, 0 for a full one
    "small_cosine",  # the greatest cosine x small: among few lines even a low cosine is evidence
    "small_top",  # the best score x small
    "asked",  # the log of one more than the question's terms: if only words are compared, many find something
)
SATURATED_LINES = 500  # lines; from here on a bank has something near to any question


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A logistic curve: the chance is 1 / (1 + exp(-(bias + weights · evidence)))."""

    bias: float
    weights: Mapping[str, float]

    def predict(self, evidence: Mapping[str, float]) -> float:
        """Return the chance that this evidence gives."""
        return float(_logistic(self.bias + sum(self.weights[name] * evidence[name] for name in self.weights)))


def collect_evidence(found: Candidates, values: Signals, scores: Floats) -> dict[str, float]:
    """Return the evidence for and against the bank knowing the answer.

    A line without information ("empty") is no evidence.
    """
    told = values["empty"] == 0
    cosine = float(values["cosine"][told].max(initial=0.0))
    top = float(scores[told].max()) if told.any() else 0.0
    small = 1 - math.log(min(max(found.corpus.lines, 1), SATURATED_LINES)) / math.log(SATURATED_LINES)
    return {
        "match": float((values["cosine"] * values["share_window"])[told].max(initial=0.0)),
        "cosine": cosine,
        "top": top,
        "stranger": float(mentions_unknown_name(found)),
        "small": small,
        "small_cosine": small * cosine,
        "small_top": small * top,
        "asked": math.log1p(len(found.query.terms)),
    }


def evidence_weights(query: ParsedQuery, weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weights by which the best score counts as evidence.

    Lines of last week are no evidence that the bank knows the answer to a question about last week; the curves were
    fitted on dates only.
    """
    if not any(isinstance(time, Span) for time in query.times):
        return weights
    return {name: weight for name, weight in weights.items() if name not in ("day", "month")}


def mentions_unknown_name(found: Candidates) -> bool:
    """Return whether the question contains a name that never occurs in the bank."""
    unknown = {term for term, posting in found.postings.items() if not posting.df} - found.query.speaker_terms
    return any(unknown.issuperset(terms) for terms in found.query.name_terms)


def estimate_relevance(hit: LogisticModel, scores: Floats, whole: float) -> Floats:
    """Return the (C,) chances that each candidate bears on the query: that any does, times that it is this one."""
    return np.asarray(whole * _logistic(hit.bias + hit.weights["share"] * log_softmax(scores)), np.float32)


def log_softmax(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return the (C,) log of each candidate's share in a softmax over the scores."""
    if not len(scores):
        return scores
    apart = scores - scores.max()
    return np.asarray(apart - np.log(np.exp(apart).sum()))


def _logistic(x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -50, 50))))
