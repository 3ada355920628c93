"""SentenceTransformerEmbedder: any sentence-transformers model, on torch (an extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everthread.common.fork_safety import Lock
from everthread.common.installation import extra_command
from everthread.errors import ConfigError, ModelNotFound
from everthread.text.encoding import make_encodable
from everthread.types import Vector, Vectors

if TYPE_CHECKING:
    import sentence_transformers


class SentenceTransformerEmbedder:
    """Runs any sentence-transformers model on torch, by name or folder. The library downloads a named model once.

    `device` is the torch device (`cuda`, `cuda:1`, `mps`, `cpu`); None lets the library choose.
    """

    def __init__(
        self, model: str | Path, batch_size: int = 32, multilingual: bool = True, device: str | None = None
    ) -> None:
        self.name = f"sentence-transformers/{model}"
        self.multilingual = multilingual
        self._model_name = str(model)
        self._batch_size = batch_size
        self._device = device
        self._lock = Lock()
        self._loaded: sentence_transformers.SentenceTransformer | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._encode([make_encodable(text) for text in texts], "encode_document")

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._encode([make_encodable(text)], "encode_query")[0]
        return vector

    def _encode(self, texts: list[str], method: str) -> Vectors:
        with self._lock:  # torch modules are not guaranteed to be thread-safe
            encode = getattr(self._load(), method)
            vectors = encode(texts, batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)

    def _load(self) -> sentence_transformers.SentenceTransformer:
        if self._loaded is None:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                extra = extra_command("sentence-transformers")
                raise ConfigError(f"{self.name} needs an extra: {extra} ({error})") from error
            try:
                self._loaded = SentenceTransformer(self._model_name, device=self._device)
            except (OSError, ValueError, RuntimeError, AssertionError) as error:  # the last two for an unknown device
                place = f" on {self._device}" if self._device else ""
                raise ModelNotFound(
                    f"{self._model_name!r} can't be loaded{place}; check the name or folder, and the device ({error})"
                ) from error
        return self._loaded
