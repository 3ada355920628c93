"""LangChain's own tests of a retriever and of a vector store, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from everthread import Memory
from everthread.compat.langchain import EverthreadRetriever, EverthreadVectorStore, LangChainEmbedder


@pytest.fixture
def anyio_backend() -> str:
    """Return the event loop by which anyio runs the asynchronous tests."""
    return "asyncio"


@pytest.mark.usefixtures("anyio_backend")
class TestRetriever(RetrieversIntegrationTests):
    """A bank in which three friends talk."""

    @pytest.fixture(autouse=True)
    def _fill(self, memory: Memory) -> None:
        self.memory = memory
        for speaker, text in (("Ann", "Mia moved to Lisbon."), ("Bob", "To Lisbon?"), ("Ann", "Yes, in May.")):
            memory.observe(text, speaker=speaker)

    @property
    def retriever_constructor(self) -> type[EverthreadRetriever]:
        return EverthreadRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "Where does Mia live?"


@pytest.mark.usefixtures("anyio_backend")
class TestVectorStore(VectorStoreIntegrationTests):
    """An empty bank with the embeddings of the suite."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[EverthreadVectorStore]:
        embedder = LangChainEmbedder(self.get_embeddings())
        with Memory.open("documents", store=tmp_path, embedder=embedder) as memory:
            yield EverthreadVectorStore(memory)
