"""LangChain's retriever over the lines of a bank: what was said, with its speaker and its day."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from everthread.client.client import Client
from everthread.compat.hits import describe_hit, find_relevant
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.text.formatting import format_dated_line
from everthread.types import FoundUnit, Hit, Line


class EverthreadRetriever(BaseRetriever):
    """Retrieves what a bank, on this machine or on a server, knows of a query.

        with Memory.open("alice") as memory:
            retriever = EverthreadRetriever(memory=memory, k=4)
            retriever.invoke("Where does Mia live?")

    Attributes:
        memory: the bank, which the caller closes.
        k: the maximum number of documents. Fewer are returned only by a smaller bank, a filter or the gate.
        where: a `Filter` for the lines; with a `kind`, units are found instead.
        gated: whether the relevance gate applies. A query to which nothing is relevant then gets no documents.
        dated: whether the text of a document begins with the speaker and the day: "Mia, 2 June 2024: …".
    """

    memory: Memory | Client
    k: int = 4
    where: Any = None  # pydantic has no schema for the recursive types in a Filter
    gated: bool = False
    dated: bool = True

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Return the documents of the hits, best first.

        Args:
            query: the query.
            run_manager: LangChain's callbacks, which LangChain itself calls.
            k: the maximum number of documents; None: that of the retriever.

        Raises:
            BadQuery: the query, k or the filter is invalid.
        """
        try:
            hits = self._find(query, self.k if k is None else k)
        except NotFound:  # a server has no bank before its first line
            return []
        return [self._to_document(hit) for hit in hits]

    def _find(self, query: str, k: int) -> list[Hit]:
        if self.gated:
            return list(find_relevant(self.memory, query, self.where)[:k])
        return self.memory.recall(query, k, where=self.where)

    def _to_document(self, hit: Hit) -> Document:
        source, metadata = hit.source, describe_hit(hit)
        if isinstance(source, Line):
            return Document(self._write_text(source), id=str(hit.seq), metadata={**metadata, "role": source.role})
        unit_id = f"{hit.kind}:{source.unit.id}"
        return Document(self._write_text(source), id=unit_id, metadata={**metadata, "kind": hit.kind})

    def _write_text(self, source: Line | FoundUnit) -> str:
        return format_dated_line(source) if self.dated else source.text
