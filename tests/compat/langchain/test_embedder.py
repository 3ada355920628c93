"""LangChain's embeddings as an embedder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from everthread import Memory
from everthread.compat.langchain import LangChainEmbedder
from everthread.errors import ModelError


class Down(Embeddings):
    """Embeddings of a service that does not answer."""

    model = "large"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ValueError("429 Too Many Requests")

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 0.0]


def test_its_vectors_have_unit_length_and_their_direction() -> None:
    embeddings = DeterministicFakeEmbedding(size=6)
    embedder = LangChainEmbedder(embeddings)
    for vector, raw in (
        (embedder.embed(["tea", "coffee"])[1], embeddings.embed_documents(["coffee"])[0]),
        (embedder.embed_query("tea"), embeddings.embed_query("tea")),
    ):
        assert np.linalg.norm(vector) == pytest.approx(1)
        np.testing.assert_allclose(vector * np.linalg.norm(raw), raw, rtol=1e-5)
    assert LangChainEmbedder(Down()).embed_query("tea").tolist() == [0, 0]


def test_it_is_named_after_the_class_and_the_model() -> None:
    assert LangChainEmbedder(Down()).name == "langchain:Down:large"
    assert LangChainEmbedder(DeterministicFakeEmbedding(size=6)).name == "langchain:DeterministicFakeEmbedding"
    assert LangChainEmbedder(Down(), "mine").name == "mine"


def test_a_service_that_fails_delays_no_line(tmp_path: Path) -> None:
    embedder = LangChainEmbedder(Down())
    with pytest.raises(ModelError, match=r"langchain:Down:large could not embed 1 texts: 429 Too Many Requests"):
        embedder.embed(["tea"])
    with Memory.open(store=tmp_path, embedder=embedder) as memory:
        memory.observe("Mia moved to Lisbon.")
        assert [hit.text for hit in memory.recall("Lisbon")] == ["Mia moved to Lisbon."]
        assert memory.stats().pending == 1
