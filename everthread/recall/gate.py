"""Is anything relevant? From raw signals to a calibrated relevance in 0..1. Pure.

Two logistic curves. One judges the query as a whole from four absolute pieces of evidence, so that a question about
what was never said injects nothing, even when some line must come first; a context asks it. The other gives each hit
its chance to bear on the query. Both are fitted by `everthread bench fit`.
"""

from __future__ import annotations

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
    "terms",  # how many terms the question has: a long one shares something with any bank
    "stranger",  # it names someone or something that never occurs in the bank
)


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
        "top": float(scores.max(initial=-10.0)) if len(scores) else 0.0,
        "terms": float(len(found.postings)),
        "stranger": float(stranger(found)),
    }


def stranger(found: Found) -> bool:
    """Whether the question names someone or something of whom the bank has never heard."""
    known = {term for term, posting in found.postings.items() if posting.df} | found.query.speaker_terms
    return any(not known.intersection(terms) for terms in found.query.names)


def chances(hit: Curve, scores: Floats) -> Floats:
    """(C,) each candidate's chance to bear on the query, from its score."""
    return np.asarray(_logistic(hit.bias + hit.weights["score"] * scores), np.float32)


def _logistic(x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -50, 50))))
