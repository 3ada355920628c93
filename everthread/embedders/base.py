"""The interface that every embedder implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from everthread.types import Vector, Vectors


class Embedder(Protocol):
    """Turns texts into vectors, which are compared by their cosine; those of another length than one are scaled.

    Vectors of embedders with different names are never compared. If a method raises an error, lines are stored without
    vectors and found by their words. Methods may be called in several threads at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def multilingual(self) -> bool:
        """True if the model understands languages other than English; otherwise such text is searched by its words."""
        ...

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return one vector per text, in order: (N, D); or several per text: (N, E, D)."""
        ...

    def embed_query(self, text: str, /) -> Vector:
        """Return the vector of a question, which some models embed differently: (D,); or several: (Q, D)."""
        ...
