"""LangChain's vector store in a bank: a document is a line, a search a recall by words and meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from everthread.client.client import Client
from everthread.common.undo import undo_on_error
from everthread.compat.conditions import build_condition
from everthread.compat.document_lines import DocumentLines
from everthread.compat.langchain.embedder import LangChainEmbedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recall.rerank.models import MMR
from everthread.types import Hit, Line, NewLine

NAME = "langchain"  # of the framework, and of the bank, unless another is named
METADATA, CONTENT = "metadata", "page_content"  # names in the metadata of a line


class EverthreadVectorStore(VectorStore):
    """A vector store of LangChain in one bank, on this machine or on a server; a context manager.

    with Memory.open("manuals") as memory:
        store = EverthreadVectorStore(memory)
        store.add_texts(["Press the red button to stop."], [{"page": 7}])
        store.similarity_search("How do I stop it?", k=1, filter={"page": {"$lt": 10}})
    """

    def __init__(self, memory: Memory | Client) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank. Its embedder embeds the documents and the queries.
        """
        self._memory, self._lines = memory, DocumentLines(memory, NAME)
        self._opened: Memory | None = None

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        bank: str = NAME,
        store: str | Path | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open a bank, which `close` closes, and add texts to those that it has.

        Args:
            texts: the texts.
            embedding: embeds the texts and the queries; None: the configured embedder.
            metadatas: the metadata of each text.
            ids: the id of each text; without them each gets a new one.
            bank: the bank's id.
            store: a folder, or the URL of a database; None: the configured one.
            **kwargs: none are known.

        Raises:
            BadInput: an argument is invalid.
            StoreUnavailable: the bank can't be read or written.
        """
        _refuse_unknown("from_texts", kwargs)
        memory = Memory.open(bank, store=store, embedder=None if embedding is None else LangChainEmbedder(embedding))
        with undo_on_error(memory.close):
            made = cls(memory)
            made.add_texts(texts, metadatas, ids=ids)
        made._opened = memory
        return made

    def close(self) -> None:
        """Close the bank, if `from_texts` or `from_documents` opened it."""
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings of LangChain by which the bank was opened, if there are any."""
        embedder = getattr(self._memory, "embedder", None)
        return embedder.embeddings if isinstance(embedder, LangChainEmbedder) else None

    # ------------------------------------------------------------------ writing

    def add_documents(
        self, documents: list[Document], *, ids: list[str] | None = None, batch_size: int | None = None, **kwargs: Any
    ) -> list[str]:
        """Store documents, or replace those with the same ids.

        Args:
            documents: the documents.
            ids: the id of each; None: its own, or a new one.
            batch_size: given by LangChain's `index`; of no effect, because a bank chooses its batches.
            **kwargs: none are known.

        Returns:
            Their ids.

        Raises:
            BadInput: a document, its metadata or an id is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written.
        """
        _refuse_unknown("add_documents", kwargs)
        if ids is not None and len(ids) != len(documents):
            raise BadInput(f"give one id for each document: got {len(ids)} ids for {len(documents)} documents")
        wanted: Sequence[str | None] = ids or [document.id for document in documents]
        known = [document_id or str(uuid4()) for document_id in wanted]
        self._lines.write([self._to_line(*pair) for pair in zip(known, documents, strict=True)])
        return known

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents, with their earlier versions; ids that are not stored are skipped.

        Args:
            ids: the ids; None: all documents.
            **kwargs: none are known.

        Raises:
            BadInput: an argument is invalid.
            StoreUnavailable: the bank can't be written.
        """
        _refuse_unknown("delete", kwargs)
        self._lines.forget(self._lines.read() if ids is None else self._lines.find_all(ids))
        return True

    # ------------------------------------------------------------------ reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in the order of the ids, without those that are not stored."""
        return [self._to_document(line) for line in self._lines.find_all(ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents most relevant to a query, best first.

        Args:
            query: the query. A blank one finds nothing.
            k: the maximum number of documents.
            filter: values of the metadata, or comparisons: {"author.name": "Ann", "year": {"$gte": 2024}}. The
                operators are $eq, $ne, $gt, $gte, $lt, $lte, $in and $nin; $and and $or join a list of filters.
            **kwargs: none are known.

        Raises:
            BadInput: an argument is invalid.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their relevance, from 0 to 1; a greater one is better.

        Takes the arguments of `similarity_search`, and raises the same errors.
        """
        return [(self._to_document(hit.line), hit.relevance) for hit in self._recall(query, k, filter, kwargs)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are relevant to a query and unlike each other.

        Args:
            query: the query.
            k: the maximum number of documents.
            fetch_k: of how many they are chosen.
            lambda_mult: from 0 (the most different ones) to 1 (the nearest ones).
            filter: as for `similarity_search`.
            **kwargs: none are known.

        Raises:
            BadInput: an argument is invalid.
            NotImplementedError: the bank is on a server.
        """
        if not isinstance(self._memory, Memory):
            raise NotImplementedError("a bank on a server has no search by MMR; use search_type='similarity'")
        hits = self._recall(query, fetch_k, filter, kwargs)
        best = MMR(self._memory.embedder, lambda_mult, k).rerank(query, hits)
        return [self._to_document(hit.line) for hit in best]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float  # the score is the relevance

    def _recall(self, query: str, k: int, fields: Mapping[str, Any] | None, unknown: Mapping[str, Any]) -> list[Hit]:
        _refuse_unknown("a search", unknown)
        return self._lines.recall(query, k, build_condition(fields, METADATA))

    # ---------------------------------------------------------- lines and documents

    def _to_line(self, document_id: str, document: Document) -> NewLine:
        blank = {} if document.page_content.strip() else {CONTENT: document.page_content}
        return self._lines.build(document_id, document.page_content, {METADATA: document.metadata, **blank})

    def _to_document(self, line: Line) -> Document:
        content = line.metadata.get(CONTENT, line.text)
        return Document(str(content), id=self._lines.id_of(line), metadata=line.metadata[METADATA])


def _refuse_unknown(name: str, arguments: Mapping[str, Any]) -> None:
    if arguments:
        raise BadInput(f"{name} got unknown arguments: {', '.join(arguments)}; omit them")
