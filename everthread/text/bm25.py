"""The two factors of BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). Pure."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

PRIOR_LINES = 100  # lines added to every bank: in one of three lines, every word would count as common otherwise
K1 = 0.9  # how soon a repeated term stops counting; flat between 0.6 and 1.2 on conversations
B = 0.75  # how much a long text is discounted; the usual value


def idf(df: int, lines: int) -> float:
    """Return the weight of a term that occurs in `df` of all lines; never negative."""
    return math.log1p((max(lines, df) + PRIOR_LINES - df + 0.5) / (df + 0.5))


def saturation(tf: npt.NDArray[np.number], length: npt.ArrayLike = 1.0, mean: float = 1.0) -> Floats:
    """Return the weight of `tf` occurrences in a text of this length, from 0 to K1 + 1."""
    counts = np.asarray(tf, np.float32)
    return np.asarray(
        counts * (K1 + 1) / (counts + K1 * (1 - B + B * np.asarray(length, np.float32) / max(mean, 1e-9)))
    )
