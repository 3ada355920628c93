"""Embedders that behave badly on demand."""

import threading
from collections.abc import Sequence

from everthread.errors import EmbedderUnavailable
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors
from hardship import PATIENCE


class Moody:
    """A HashEmbedder under another name that fails on demand, or after a number of calls."""

    multilingual = True

    def __init__(self, name: str = "moody", dim: int = 64, calls: int | None = None) -> None:
        self.name, self.dim, self.calls, self.down = name, dim, calls, False

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._answer()
        return HashEmbedder(self.dim).embed(texts)

    def embed_query(self, text: str) -> Vector:
        return HashEmbedder(self.dim).embed_query(text) if not self.down else self._refuse()

    def _answer(self) -> None:
        if self.calls is not None:
            self.down = self.down or self.calls == 0
            self.calls = max(0, self.calls - 1)
        if self.down:
            self._refuse()

    def _refuse(self) -> Vector:
        raise EmbedderUnavailable(f"{self.name} did not answer within 10 s; check that it runs")


class Several(HashEmbedder):
    """Returns three vectors per text (of the whole and of either half) and two per query (of the whole and of its last
    word)."""

    def __init__(self, dim: int = 64) -> None:
        super().__init__(dim)
        self.name = f"several-{dim}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [(text, text[: len(text) // 2], text[len(text) // 2 :]) for text in texts]
        return super().embed([part for some in parts for part in some]).reshape(len(texts), 3, self.dim)

    def embed_query(self, text: str) -> Vector:
        return super().embed([text, (text.split() or [""])[-1]])


class Stuck(HashEmbedder):
    """Embeds questions only after `released` is set, and counts them."""

    def __init__(self) -> None:
        super().__init__(64)
        self.released = threading.Event()
        self.questions = 0

    def embed_query(self, text: str) -> Vector:
        self.questions += 1
        self.released.wait(PATIENCE)
        return super().embed_query(text)
