"""Is anything relevant? From raw signals to a calibrated relevance in 0..1. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everthread.recall.fuse import Signals

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Relevance:
    """each is every candidate's chance to bear on the query; whole is the chance that any does."""

    each: Floats  # (C,)
    whole: float


def relevance(values: Signals, scores: Floats) -> Relevance:
    each = 1 / (1 + np.exp(-scores))
    return Relevance(each, float(each.max(initial=0.0)))
