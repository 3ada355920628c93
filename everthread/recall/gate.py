"""Is anything relevant? From raw signals to a calibrated relevance in 0..1. Pure.

Two logistic curves. One judges the query as a whole from four absolute pieces of evidence, so that a question about
what was never said injects nothing, even when some line must come first; a context asks it. The other gives each hit
its chance to bear on the query. Both are fitted by `everthread bench fit`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.recall.fuse import Signals
from everthread.recall.search import Found

Floats = npt.NDArray[np.float32]

EVIDENCE = (
    "match",  # the greatest cosine x idf share of the window: near in meaning and in words at the same place
    "top",  # the best score
    "stranger",  # the question names someone or something that never occurs in the bank
    "size",  # log of the lines over FULL, at most 0: the best of three lines is no better than it looks
)
FULL = 500  # lines; from here on a bank has something near to any question


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic curve: the chance is 1 / (1 + exp(-(bias + weights · evidence)))."""

    bias: float
    weights: Mapping[str, float]

    def at(self, evidence: Mapping[str, float]) -> float:
        """The chance that this evidence gives."""
        return float(_logistic(self.bias + sum(self.weights[name] * evidence[name] for name in self.weights)))


def evidence(found: Found, values: Signals, scores: Floats) -> dict[str, float]:
    """What speaks for and against the bank knowing anything of the question."""
    return {
        "match": float((values["cosine"] * values["share_window"]).max(initial=0.0)),
        "top": float(scores.max()) if len(scores) else 0.0,
        "stranger": float(stranger(found)),
        "size": math.log(min(max(found.corpus.lines, 1), FULL) / FULL),
    }


def stranger(found: Found) -> bool:
    """Whether the question names someone or something of whom the bank has never heard."""
    unknown = {term for term, posting in found.postings.items() if not posting.df} - found.query.speaker_terms
    return any(unknown.issuperset(terms) for terms in found.query.names)


def chances(hit: Curve, scores: Floats, whole: float) -> Floats:
    """(C,) each candidate's chance to bear on the query: that anything does, times that it is this one."""
    return np.asarray(whole * _logistic(hit.bias + hit.weights["share"] * log_share(scores)), np.float32)


def log_share(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """(C,) the log of each candidate's share in a softmax over the scores: how far it stands out among the others."""
    if not len(scores):
        return scores
    apart = scores - scores.max()
    return np.asarray(apart - np.log(np.exp(apart).sum()))


def _logistic(x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -50, 50))))
