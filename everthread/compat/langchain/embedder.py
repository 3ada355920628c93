"""Embeddings of LangChain as an embedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from everthread.errors import ModelError
from everthread.types import Vector, Vectors

MODEL_FIELDS = ("model", "model_name")  # in which most embeddings have the name of their model


class LangChainEmbedder:
    """Embeds texts and questions by LangChain's `Embeddings`: `Memory.open(embedder=LangChainEmbedder(embeddings))`.

    Attributes:
        embeddings: the embeddings.
        name: the name of the model. Vectors of embedders with different names are never compared.
        multilingual: whether the model understands languages other than English.
    """

    def __init__(self, embeddings: Embeddings, name: str | None = None, *, multilingual: bool = True) -> None:
        """Wrap embeddings.

        Args:
            embeddings: the embeddings.
            name: the name of the model; None: that of the class and of the model that it names.
            multilingual: whether the model understands languages other than English.
        """
        self.embeddings, self.multilingual = embeddings, multilingual
        self.name = _name_of(embeddings) if name is None else name

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order: (N, D). Raises ModelError."""
        with self._mapping_errors(f"{len(texts)} texts"):
            vectors = np.asarray(self.embeddings.embed_documents(list(texts)), np.float32)
        return _to_unit(vectors)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question: (D,). Raises ModelError."""
        with self._mapping_errors("a question"):
            vector = np.asarray(self.embeddings.embed_query(text), np.float32)
        return _to_unit(vector)

    @contextmanager
    def _mapping_errors(self, texts: str) -> Iterator[None]:
        """Raise ModelError for any error of the embeddings, each of which has error classes of its own."""
        try:
            yield
        except Exception as error:
            raise ModelError(f"{self.name} could not embed {texts}: {error}") from error


def _name_of(embeddings: Embeddings) -> str:
    names = (getattr(embeddings, field, None) for field in MODEL_FIELDS)
    model = next((name for name in names if isinstance(name, str) and name), "")
    return ":".join(filter(None, ("langchain", type(embeddings).__name__, model)))


def _to_unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scale vectors to unit length; a vector of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
