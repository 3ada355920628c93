"""The retriever of Haystack's pipelines over the documents in a bank."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from haystack.dataclasses import Document
from haystack.document_stores.types import FilterPolicy

from everthread import Memory
from everthread.compat.haystack import EverthreadDocumentStore, EverthreadRetriever
from everthread.errors import BadQuery

QUERY = "How do I stop it?"
AFTER_7 = {"field": "meta.page", "operator": ">", "value": 7}
BEFORE_12 = {"field": "meta.page", "operator": "<", "value": 12}


def fill(store: EverthreadDocumentStore) -> None:
    pages = {7: "Press the red button to stop.", 9: "Stop it at once.", 12: "Clean the filter."}
    store.write_documents([Document(str(page), content=text, meta={"page": page}) for page, text in pages.items()])


def ids(result: dict[str, Any]) -> set[str]:
    return {document.id for document in result["documents"]}


def test_a_pipeline_that_was_saved_retrieves_documents(tmp_path: Path) -> None:
    with EverthreadDocumentStore(store=str(tmp_path), embedder="hash") as store:
        fill(store)
        saved = Pipeline()
        saved.add_component("retriever", EverthreadRetriever(store, filters=AFTER_7, top_k=1))
        text = saved.dumps()
    pipeline = Pipeline.loads(text, allowed_modules=["everthread.compat.haystack"])
    assert ids(pipeline.run({"retriever": {"query": QUERY}})["retriever"]) == {"9"}
    retriever = pipeline.get_component("retriever")
    assert isinstance(retriever, EverthreadRetriever)
    retriever.document_store.close()


def test_filters_of_a_run_replace_those_of_the_retriever_or_are_merged_with_them(memory: Memory) -> None:
    store = EverthreadDocumentStore(memory)
    fill(store)
    assert ids(EverthreadRetriever(store, filters=AFTER_7).run(QUERY)) == {"9", "12"}
    assert ids(EverthreadRetriever(store, filters=AFTER_7).run(QUERY, BEFORE_12)) == {"7", "9"}
    page_9 = {"field": "meta.page", "operator": "in", "value": [9, 12]}
    merging = EverthreadRetriever(
        store, filters={"operator": "AND", "conditions": [AFTER_7]}, filter_policy=FilterPolicy.MERGE
    )
    joined = {"operator": "AND", "conditions": [page_9, BEFORE_12]}
    assert ids(asyncio.run(merging.run_async(QUERY, joined))) == {"9"}
    with pytest.raises(BadQuery, match="k must be"):
        merging.run(QUERY, top_k=0)
