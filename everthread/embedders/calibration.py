"""Calibrates the cosines of any embedder to those of the shipped model, on which weights and gate were fitted.

With some models unrelated texts have a cosine of 0.7, with others of 0. The mean and the standard deviation of the
cosines of twelve questions and twelve unrelated statements are measured, and every cosine is scaled to what the shipped
model would give, as with the impostor cohorts of speaker verification (Auckenthaler, Carey and Lloyd-Thomas 2000,
"Score normalization for text-independent speaker verification systems").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from everthread.embedders.base import Embedder
from everthread.embedders.begun_questions import BegunQuestions
from everthread.embedders.shapes import embed_texts
from everthread.errors import ModelError

SHIPPED_MODEL = "all-minilm-l6-v2-int8"
MAX_SCALE = 4.0  # a greater factor would amplify noise

QUESTIONS = (
    "Which train goes to the coast?",
    "Who repaired the washing machine?",
    "How much flour does the cake need?",
    "Was the bridge built by Romans?",
    "Why is the violin out of tune?",
    "Did the parcel of shoes arrive?",
    "Where do penguins breed?",
    "What was the score of the hockey game?",
    "Is the tax return finished?",
    "Which colour suits the bedroom?",
    "How many soldiers took part in the siege?",
    "Does the dentist open on Saturday?",
)
STATEMENTS = (  # they share no word with the questions, for models that compare words alone
    "Our lawyer sent another contract.",
    "That goat ate my neighbour's roses.",
    "He failed his chemistry exam.",
    "It snowed all night.",
    "My printer has no more ink.",
    "She sings with us every Monday.",
    "They voted against a new mayor.",
    "My knee hurts when I climb stairs.",
    "This film seemed far too long.",
    "We found somebody's wallet at sea.",
    "Grandfather collected old stamps.",
    "Software crashes after each update.",
)


@dataclass(frozen=True, slots=True)
class CosineCalibration:
    """Mean and standard deviation of the cosines of unrelated texts."""

    mean: float
    spread: float

    def to_shipped(self, cosine: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scale (C,) cosines to those of the shipped model, at most 1. NaN stays NaN."""
        if self == SHIPPED_CALIBRATION:
            return cosine
        scale = min(SHIPPED_CALIBRATION.spread / max(self.spread, 1e-9), MAX_SCALE)
        scaled = SHIPPED_CALIBRATION.mean + (cosine - self.mean) * scale
        return np.asarray(np.minimum(scaled, 1.0), np.float32)


SHIPPED_CALIBRATION = CosineCalibration(mean=0.0863, spread=0.0744)  # measured


@dataclass(slots=True)
class EmbedderState:
    """The state of an embedder in use, shared by all its users."""

    retry_at: float = 0.0  # after a failure, the earliest time.monotonic() of the next call
    scale: CosineCalibration | None = None  # measured at the first query
    questions: BegunQuestions = field(default_factory=BegunQuestions)
    warned: set[str] = field(default_factory=set)  # banks whose lack of vectors of this model was logged


def measure_calibration(embedder: Embedder, dim: int | None = None) -> CosineCalibration:
    """Measure the cosines of unrelated texts. The calibration of the shipped model is a constant.

    Args:
        embedder: the model.
        dim: the dimensions of its questions, if known.

    Raises:
        ModelError: the embedder fails, or its texts and questions have different dimensions.
    """
    if embedder.name == SHIPPED_MODEL:
        return SHIPPED_CALIBRATION
    vectors = embed_texts(embedder, [*QUESTIONS, *STATEMENTS])  # one call: it may be a request to a server
    if dim is not None and vectors.shape[-1] != dim:
        raise ModelError(
            f"{embedder.name} returned {vectors.shape[-1]} dimensions for texts and {dim} for a question; expected "
            "equal numbers. Correct its `embed` or `embed_query`, or use another embedder"
        )
    questions, statements = (part.reshape(-1, part.shape[-1]) for part in np.split(vectors, [len(QUESTIONS)]))
    pairs = (questions @ statements.T).reshape(len(QUESTIONS), -1, len(STATEMENTS), vectors.shape[1])
    cosines = pairs.max(axis=(1, 3))
    return CosineCalibration(float(cosines.mean()), float(cosines.std()))
