"""The retriever of Haystack's pipelines over the documents in a bank."""

from __future__ import annotations

from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from everthread.compat.haystack.document_store import EverthreadDocumentStore, Filters


@component
class EverthreadRetriever:
    """Retrieves the documents most relevant to a query, by its words and its meaning.

    pipeline.add_component("retriever", EverthreadRetriever(document_store, top_k=3))
    """

    def __init__(
        self,
        document_store: EverthreadDocumentStore,
        *,
        filters: Filters | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        """Use a document store.

        Args:
            document_store: the store.
            filters: the filters of a run that has none.
            top_k: the maximum number of documents.
            filter_policy: whether the filters of a run replace these filters or are merged with them.
        """
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.filter_policy = filter_policy

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: Filters | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents, best first, under the name `documents`. Raises FilterError and BadQuery.

        Args:
            query: the query.
            filters: filters of this run.
            top_k: the maximum number of documents; None: that of the retriever.
        """
        return {"documents": self.document_store.recall(query, *self._limits(filters, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: Filters | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Do what `run` does, in another thread."""
        return {"documents": await self.document_store.recall_async(query, *self._limits(filters, top_k))}

    def _limits(self, filters: Filters | None, top_k: int | None) -> tuple[Filters | None, int]:
        used = apply_filter_policy(self.filter_policy, self.filters, filters)
        return used, self.top_k if top_k is None else top_k

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of the retriever. Raises BadInput if its store can't be serialised."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> EverthreadRetriever:
        """Open a retriever that `to_dict` described, and its store."""
        arguments = dict(data["init_parameters"])
        arguments["document_store"] = EverthreadDocumentStore.from_dict(arguments["document_store"])
        arguments["filter_policy"] = FilterPolicy.from_str(arguments["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": arguments})
