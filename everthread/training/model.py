"""The model that is trained, as an embedder on torch: an encoder, its tokenizer, and a pooling. Needs torch."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from everthread.embedders.export import SourceConfig, load_encoder, read_source_config
from everthread.embedders.pooling import MASK_SCORE, AttentionPooling, BasePooling
from everthread.errors import ConfigError
from everthread.text.encoding import make_encodable
from everthread.types import Vector, Vectors

BATCH_TEXTS = 64  # embedded at a time, of similar length


class TrainableModel:
    """A sentence-transformers model with E vectors a text. With more than one, a question has a pooling of its own.

    With one vector the pooling stays that of the base, and questions are embedded as texts are.
    """

    multilingual = False

    def __init__(self, folder: Path, vectors: int = 1, seed: int = 0) -> None:
        """Load a model.

        Args:
            folder: a sentence-transformers folder.
            vectors: of each text.
            seed: of the poolings' first weights.

        Raises:
            ConfigError: the folder can't be loaded, or several vectors are to be trained from a base that has no mean
                pooling.
        """
        self.source: SourceConfig = read_source_config(folder)
        if vectors > 1 and self.source.pooling != "mean":
            raise ConfigError(
                f"{folder} has the pooling {self.source.pooling}; several vectors need a base with mean pooling. Train "
                "with --vectors 1, or name another base"
            )
        self.name, self.vectors = folder.resolve().name, vectors
        self.encoder: Any = load_encoder(folder)
        torch.manual_seed(seed)
        self.dim = int(self.encoder.config.hidden_size)
        base_pooling = BasePooling(self.source.pooling, self.source.normalise)
        self.pooling: nn.Module = base_pooling if vectors == 1 else AttentionPooling(self.dim, vectors)
        self._takes_types = "token_type_ids" in inspect.signature(self.encoder.forward).parameters
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(self.source.max_tokens)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._embed_all(self.source.text_prompt, texts)[:, -self.vectors :]  # (N, E, D)
        return rows[:, 0] if self.vectors == 1 else rows

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed_all(self.source.query_prompt, [text])[0, 0]
        return vector

    def encode_questions(self, texts: Sequence[str]) -> Tensor:
        """Return the (N, D) vectors of questions, for training."""
        return self._encode([self.source.query_prompt + text for text in texts])[:, 0]

    def encode_texts(self, texts: Sequence[str]) -> Tensor:
        """Return the (N, E, D) vectors of texts, for training."""
        return self._encode([self.source.text_prompt + text for text in texts])[:, -self.vectors :]

    def layers(self) -> Sequence[nn.Module]:
        """Return the layers of the encoder, the first one first."""
        stacks = [module for module in self.encoder.modules() if isinstance(module, nn.ModuleList)]
        layers: Sequence[nn.Module] = max(stacks, key=len)
        return layers

    def _embed_all(self, prompt: str, texts: Sequence[str]) -> Vectors:
        """Return all vectors of texts, (N, 1, D) or (N, 1 + E, D)."""
        rows = np.empty((len(texts), 1 if self.vectors == 1 else 1 + self.vectors, self.dim), np.float32)
        self.encoder.eval()
        with torch.no_grad():
            for indexes in _group_by_length(texts):
                rows[indexes] = self._encode_group([prompt + texts[index] for index in indexes]).numpy()
        return rows

    def _encode(self, texts: Sequence[str]) -> Tensor:
        """Return all vectors of texts, with their gradients."""
        groups = list(_group_by_length(texts))
        rows = torch.cat([self._encode_group([texts[index] for index in indexes]) for indexes in groups])
        return rows[torch.from_numpy(np.argsort(np.concatenate(groups)))]

    def _encode_group(self, texts: Sequence[str]) -> Tensor:
        encodings = self._tokenizer.encode_batch([make_encodable(text) for text in texts])
        ids = torch.tensor([encoding.ids for encoding in encodings])  # (N, T)
        mask = torch.tensor([encoding.attention_mask for encoding in encodings], dtype=torch.float32)
        types = {"token_type_ids": torch.zeros_like(ids)} if self._takes_types else {}
        bias = (1.0 - mask[:, None, None, :]) * MASK_SCORE  # (N, 1, 1, T)
        states = self.encoder(input_ids=ids, attention_mask=bias, **types).last_hidden_state  # (N, T, D)
        pooled = nn.functional.normalize(self.pooling(states, mask), dim=-1)
        return pooled if pooled.ndim == 3 else pooled[:, None]


def _group_by_length(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of texts in batches of similar length, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    for start in range(0, len(order), BATCH_TEXTS):
        yield order[start : start + BATCH_TEXTS]
