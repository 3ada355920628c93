"""LangChain's vector store in a bank. `test_suites` runs LangChain's own tests of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index

from everthread import Memory
from everthread.compat.langchain import EverthreadVectorStore
from everthread.errors import BadInput, BadLine
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder

DOCUMENTS = [
    Document("Press the red button to stop.", id="stop", metadata={"page": 7, "book": {"year": 2024}}),
    Document("Clean the filter every month.", id="clean", metadata={"page": 12, "tags": ["a"]}),
    Document("  ", id="blank", metadata={"page": None}),
]


@pytest.fixture
def store(memory: Memory) -> EverthreadVectorStore:
    made = EverthreadVectorStore(memory)
    made.add_documents(DOCUMENTS)
    return made


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_a_document_is_a_line_without_a_time(store: EverthreadVectorStore, memory: Memory) -> None:
    line = memory.get(key="langchain:stop")
    assert line is not None
    assert (line.speaker, line.text) == ("langchain document", "Press the red button to stop.")
    assert line.is_undated
    assert store.get_by_ids(["blank", "stop", "missing"]) == [DOCUMENTS[2], DOCUMENTS[0]]


def test_a_search_finds_documents_by_words_and_meaning(store: EverthreadVectorStore, memory: Memory) -> None:
    memory.observe("How do I stop it? Press the red button to stop it!", session="talk")
    (first, score), (second, lower) = store.similarity_search_with_score("Which button stops it?")
    assert (first, second) == (DOCUMENTS[0], DOCUMENTS[1])
    assert 1 >= score > lower >= 0
    found = store.similarity_search_with_relevance_scores("Which button stops it?", score_threshold=score)
    assert found == [(first, score)]
    assert store.similarity_search(" ") == []
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"page": {"$gt": 7}}})
    assert ids(retriever.invoke("Which button stops it?")) == ["clean"]
    assert store.embeddings is None


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"page": 7}, ["stop"]),
        ({"book.year": {"$in": [2023, 2024]}}, ["stop"]),
        ({"$or": [{"page": 12}, {"book": {"year": 2024}}]}, ["clean", "stop"]),
        ({"page": {"$lt": 7}}, []),
        ({}, ["clean", "stop"]),
    ],
)
def test_a_filter_compares_the_metadata(store: EverthreadVectorStore, fields: dict[str, Any], found: list[str]) -> None:
    assert sorted(map(str, ids(store.similarity_search("Stop and clean it.", filter=fields)))) == found


def test_a_replaced_or_deleted_document_leaves_no_byte(store: EverthreadVectorStore, tmp_path: Path) -> None:
    store.add_texts(["Keep Zebulon away."], ids=["stop"])
    store.add_texts(["Keep Quagga away."], ids=["stop"])
    assert store.get_by_ids(["stop"]) == [Document("Keep Quagga away.", id="stop")]
    assert store.delete(["stop", "missing"])
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert ids(store.get_by_ids(["stop", "clean"])) == ["clean"]
    store.delete()
    store.delete()
    assert store.get_by_ids(["clean", "blank"]) == []


def test_documents_that_are_unlike_each_other_are_found_by_mmr(store: EverthreadVectorStore) -> None:
    store.add_texts(["Press the red button to stop it."], ids=["again"])
    query = "Press the red button to stop."
    assert ids(store.similarity_search(query, k=2)) == ["stop", "again"]
    assert ids(store.max_marginal_relevance_search(query, k=2, lambda_mult=0.1)) == ["stop", "clean"]
    assert len(store.max_marginal_relevance_search(query, k=2, fetch_k=1)) == 1


def test_a_store_opens_a_bank_with_embeddings_of_langchain_and_closes_it(tmp_path: Path) -> None:
    embeddings = DeterministicFakeEmbedding(size=6)
    with EverthreadVectorStore.from_documents(DOCUMENTS, embeddings, bank="manuals", store=tmp_path) as store:
        assert store.embeddings is embeddings
    with Memory.open("manuals", store=tmp_path, embedder=HashEmbedder(8)) as memory:
        assert EverthreadVectorStore(memory).get_by_ids(["clean"]) == [DOCUMENTS[1]]
        EverthreadVectorStore(memory).close()
        assert memory.get(key="langchain:clean") is not None
    with pytest.raises(BadInput, match="from_texts got unknown arguments: collection_name; omit them"):
        EverthreadVectorStore.from_texts(["x"], embeddings, store=tmp_path, collection_name="manuals")


def test_the_index_of_langchain_keeps_a_store_up_to_date(store: EverthreadVectorStore) -> None:
    records = InMemoryRecordManager("manuals")
    records.create_schema()

    def sync(*texts: str) -> dict[str, int]:
        documents = [Document(text, metadata={"source": "manual"}) for text in texts]
        result = index(documents, records, store, cleanup="full", key_encoder="sha256")
        return {name: count for name, count in result.items() if count}  # type: ignore[misc]

    assert sync("Oil the chain.", "Charge the battery.") == {"num_added": 2}
    assert sync("Oil the chain.", "Change the battery.") == {"num_added": 1, "num_skipped": 1, "num_deleted": 1}
    found = store.similarity_search("The battery.", filter={"source": "manual"})
    assert {document.page_content for document in found} == {"Oil the chain.", "Change the battery."}


def test_an_invalid_document_is_named_and_none_is_stored(store: EverthreadVectorStore) -> None:
    with pytest.raises(BadInput, match="got 1 ids for 2 documents"):
        store.add_documents(DOCUMENTS[:2], ids=["stop"])
    with pytest.raises(BadLine, match=r"metadata must be JSON-serialisable, got .*object"):
        store.add_documents([Document("new", id="new"), Document("bad", metadata={"x": object()})])
    with pytest.raises(BadLine, match="has 310 characters; at most 200"):
        store.add_texts(["new"], ids=["n" * 300])
    with pytest.raises(BadInput, match="a search got unknown arguments: where; omit them"):
        store.similarity_search("x", where={})
    with pytest.raises(BadInput, match="invalid filter: got 'page'"):
        store.similarity_search("x", filter="page")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"expected a list of ids, got 'stop'; write \['stop'\]"):
        store.delete("stop")  # type: ignore[arg-type]
    assert store.get_by_ids(["new", "n" * 300]) == []


def test_every_store_finds_and_replaces_the_same_documents(any_store: Store) -> None:
    async def use(store: EverthreadVectorStore) -> None:
        assert await store.aadd_documents(DOCUMENTS) == ["stop", "clean", "blank"]
        await store.aadd_documents([DOCUMENTS[1]], ids=["stop"])
        found = await store.asimilarity_search("Clean it.", filter={"tags": ["a"]})
        assert ids(found) == ["stop", "clean"]
        await store.adelete(["stop"])
        assert await store.aget_by_ids(["stop", "clean", "blank"]) == DOCUMENTS[1:]

    asyncio.run(use(EverthreadVectorStore(Memory("documents", any_store, HashEmbedder(64), Default()))))
