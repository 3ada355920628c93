"""How widely a model's cosines are spread. Weights and gate were fitted on those of the shipped model.

Some models put any two texts at a cosine of 0.7, others at 0. Twelve questions and twelve statements that have nothing
to do with one another tell where a model puts strangers and how far they scatter; every cosine is then moved to where
the shipped model would put it. (The cohort of impostors of speaker verification: Auckenthaler, Carey and Lloyd-Thomas
2000, "Score normalization for text-independent speaker verification systems".)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from everthread.embedders.base import Embedder
from everthread.embedders.shapes import passages
from everthread.errors import ModelError

SHIPPED = "all-minilm-l6-v2-int8"
WIDEST = 4.0  # times that cosines are spread at most; beyond, it would be noise that is enlarged

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
STATEMENTS = (  # without any of the questions' words, for models that know nothing but words
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
    """Mean and standard deviation of the cosines of texts that have nothing to do with one another."""

    mean: float
    spread: float

    def shipped(self, cosine: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """(C,) the cosines as the shipped model would give them, at most 1; NaN stays."""
        if self == OURS:
            return cosine
        moved = OURS.mean + (cosine - self.mean) * min(OURS.spread / max(self.spread, 1e-9), WIDEST)
        return np.asarray(np.minimum(moved, 1.0), np.float32)


OURS = CosineCalibration(mean=0.0863, spread=0.0744)  # as `measured` finds the shipped model


@dataclass(slots=True)
class EmbedderState:
    """What is known of an embedder in use, by all who share it."""

    retry_at: float = 0.0  # by time.monotonic(): it failed, and isn't asked before
    scale: CosineCalibration | None = None  # measured at the first query
    warned: set[str] = field(default_factory=set)  # the banks of which it was said that no line has a vector of it


def calibrate(embedder: Embedder, dim: int | None = None) -> CosineCalibration:
    """The scale of a model; the shipped one's is known. Raises as the embedder does, and ModelError where its texts
    don't have the `dim` dimensions of its questions."""
    if embedder.name == SHIPPED:
        return OURS
    vectors = passages(embedder, [*QUESTIONS, *STATEMENTS])  # one call: it may be a request to a server
    if dim is not None and vectors.shape[-1] != dim:
        raise ModelError(
            f"{embedder.name} gave {vectors.shape[-1]} dimensions for texts and {dim} for a question; expected the "
            "same number. Correct its `embed` or `embed_query`, or name another embedder"
        )
    asked, said = (part.reshape(-1, part.shape[-1]) for part in np.split(vectors, [len(QUESTIONS)]))
    pairs = (asked @ said.T).reshape(len(QUESTIONS), -1, len(STATEMENTS), vectors.shape[1])
    cosines = pairs.max(axis=(1, 3))
    return CosineCalibration(float(cosines.mean()), float(cosines.std()))
