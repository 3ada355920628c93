"""Haystack's document store in a bank. `test_suites` runs Haystack's own tests of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from everthread import Memory
from everthread.compat.haystack import EverthreadDocumentStore
from everthread.errors import BadInput, BadLine

STOP = Document("stop", content="Press the red button to stop.", meta={"page": 7})
CLEAN = Document("clean", content="Clean the filter every month.", meta={"page": 12})


@pytest.fixture
def store(memory: Memory) -> EverthreadDocumentStore:
    made = EverthreadDocumentStore(memory)
    made.write_documents([STOP, CLEAN])
    return made


def test_a_document_comes_back_as_it_was(store: EverthreadDocumentStore, memory: Memory) -> None:
    every_field = Document(
        "all",
        content=" ",
        blob=ByteStream(b"\0\1", {"of": "x"}, "image/png"),
        meta={"id": 1, "meta": {"content": None}},
        score=0.5,
        embedding=[0.1, 1e-300],
        sparse_embedding=SparseEmbedding([3], [0.25]),
    )
    store.write_documents([every_field])
    assert store.filter_documents() == [STOP, CLEAN, every_field]
    line = memory.get(key="haystack:stop")
    assert line is not None
    assert (line.speaker, line.text, line.is_undated) == ("haystack document", STOP.content, True)


def test_documents_are_recalled_by_words_and_meaning(store: EverthreadDocumentStore, memory: Memory) -> None:
    memory.observe("Which button stops it? The red button stops it!")
    first, second = store.recall("Which button stops it?")
    assert (first.id, second.id) == ("stop", "clean")
    assert first.score is not None
    assert second.score is not None
    assert 1 >= first.score > second.score >= 0
    filters = {"field": "meta.page", "operator": ">", "value": 7}
    assert [document.id for document in store.recall("Which button stops it?", filters, top_k=1)] == ["clean"]
    assert store.recall(" ") == []


def test_no_document_is_written_if_one_exists(store: EverthreadDocumentStore) -> None:
    new = Document("new", content="New.")
    with pytest.raises(DuplicateDocumentError, match=r"the id 'stop' exists; write it with DuplicatePolicy\.OVERWRITE"):
        store.write_documents([new, STOP])
    with pytest.raises(DuplicateDocumentError, match="the id 'new' exists"):
        store.write_documents([new, new])
    assert store.count_documents() == 2
    assert store.write_documents([new, new, STOP], DuplicatePolicy.SKIP) == 1
    assert store.count_documents() == 3


@pytest.mark.parametrize("policy", [DuplicatePolicy.FAIL, DuplicatePolicy.SKIP])
def test_of_writers_of_one_id_at_once_one_stores_its_document(memory: Memory, policy: DuplicatePolicy) -> None:
    start = Barrier(6)

    def write(number: int) -> int:
        start.wait()
        try:
            return EverthreadDocumentStore(memory).write_documents([Document("new", content=f"By {number}.")], policy)
        except DuplicateDocumentError:
            return 0

    with ThreadPoolExecutor(start.parties) as pool:
        written = list(pool.map(write, range(start.parties)))
    assert sorted(written) == [0, 0, 0, 0, 0, 1]
    assert [line.text for line in memory.lines(include_retracted=True)] == [f"By {written.index(1)}."]


def test_an_invalid_document_is_named_and_none_is_stored(store: EverthreadDocumentStore) -> None:
    with pytest.raises(BadLine, match=r"metadata must be JSON-serialisable, got .*object"):
        store.write_documents([Document("new", content="New."), Document("bad", meta={"x": object()})])
    with pytest.raises(BadLine, match="has 309 characters; at most 200"):
        store.write_documents([Document("n" * 300, content="New.")])
    with pytest.raises(BadInput, match=r"expected a list of Haystack's documents, got 'New\.'"):
        store.write_documents("New.")  # type: ignore[arg-type]
    assert store.filter_documents() == [STOP, CLEAN]


def test_a_replaced_or_deleted_document_leaves_no_byte(store: EverthreadDocumentStore, tmp_path: Path) -> None:
    for word in ("Zebulon", "Quagga"):
        store.write_documents([Document("stop", content=f"Keep {word} away.")], DuplicatePolicy.OVERWRITE)
    store.delete_documents(["stop", "missing"])
    assert store.filter_documents() == [CLEAN]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(word in file for word in (b"Zebulon", b"Quagga") for file in files)


def test_a_store_opens_the_bank_that_it_is_named_and_closes_it(tmp_path: Path) -> None:
    with EverthreadDocumentStore(bank="manuals", store=str(tmp_path), embedder="hash") as store:
        store.write_documents([STOP])
        described = store.to_dict()
    with EverthreadDocumentStore.from_dict(described) as again:
        assert again.filter_documents() == [STOP]
        assert again.to_dict() == described


def test_a_corrected_line_is_a_corrected_document(store: EverthreadDocumentStore, memory: Memory) -> None:
    line = memory.get(key="haystack:stop")
    assert line is not None
    memory.correct(line.seq, "Press the green button to stop.")
    (found,) = store.filter_documents({"field": "id", "operator": "==", "value": "stop"})
    assert (found.content, found.meta) == ("Press the green button to stop.", STOP.meta)


def test_a_store_of_an_open_bank_is_not_serialised(store: EverthreadDocumentStore, memory: Memory) -> None:
    with pytest.raises(BadInput, match="either an open bank or the bank"):
        EverthreadDocumentStore(memory, bank="manuals")
    with pytest.raises(BadInput, match="name the bank: bank='manuals'"):
        store.to_dict()
    store.close()
    assert memory.get(key="haystack:stop") is not None
