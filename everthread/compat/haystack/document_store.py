"""Haystack's document store in a bank: a document is a line, its fields are in the metadata of the line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from everthread.client.client import Client
from everthread.compat.document_lines import DocumentLines
from everthread.compat.haystack import meta_values
from everthread.compat.haystack.filters import build_condition
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.types import Line, NewLine

NAME = "haystack"  # of the framework, and of the bank, unless another is named
DOCUMENT = "document"  # name in the metadata of a line: the fields of the document

Filters = dict[str, Any]


class EverthreadDocumentStore:
    """A document store of Haystack in one bank, on this machine or on a server; a context manager.

        with EverthreadDocumentStore(bank="manuals") as store:
            store.write_documents([Document(content="Press the red button to stop.", meta={"page": 7})])
            store.recall("How do I stop it?", top_k=1)

    An embedding in a document is kept, but not searched: the embedder of the bank embeds its content.
    """

    def __init__(
        self,
        memory: Memory | Client | None = None,
        *,
        bank: str = NAME,
        store: str | None = None,
        embedder: str | None = None,
    ) -> None:
        """Use an open bank, which the caller closes, or open one, which `close` closes.

        Args:
            memory: the open bank; None: the one that the other arguments name.
            bank: the bank's id.
            store: a folder, or the URL of a database; None: the configured one.
            embedder: the name of an embedding model; None: the configured one.

        Raises:
            BadInput, ConfigError: an argument is invalid.
            StoreUnavailable: the bank can't be read.
        """
        if memory is not None and (bank, store, embedder) != (NAME, None, None):
            raise BadInput("give either an open bank or the bank, the store and the embedder to open, not both")
        self._named = {"bank": bank, "store": store, "embedder": embedder}
        self._opened: Memory | None = None
        if memory is None:
            memory = self._opened = Memory.open(bank, store=store, embedder=embedder)
        self._lines = DocumentLines(memory, NAME)

    def close(self) -> None:
        """Close the bank, if the store opened it."""
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of a store that opened its bank. Raises BadInput for one that was given an open bank."""
        if self._opened is None:
            raise BadInput("a document store of an open bank can't be serialised; name the bank: bank='manuals'")
        return default_to_dict(self, **self._named)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open a store that `to_dict` described."""
        return default_from_dict(cls, data)

    # ------------------------------------------------------------------ reading

    def count_documents(self) -> int:
        """Return the number of documents."""
        return sum(1 for _ in self._lines.read())

    def count_documents_by_filter(self, filters: Filters) -> int:
        """Return the number of documents that filters allow. Raises FilterError."""
        return sum(1 for _ in self._read(filters))

    def filter_documents(self, filters: Filters | None = None) -> list[Document]:
        """Return the documents that filters allow, in the order in which they were written.

        Args:
            filters: as Haystack defines them; None: all documents. Dates are compared as text.

        Raises:
            FilterError: the filters are invalid; the message names the part.
        """
        return [_to_document(line) for line in self._read(filters)]

    def recall(self, query: str, filters: Filters | None = None, top_k: int = 10) -> list[Document]:
        """Return the documents most relevant to a query, best first, with the relevance as their score.

        Args:
            query: the query. A blank one finds nothing, as documents without content are never found.
            filters: as for `filter_documents`.
            top_k: the maximum number of documents.

        Raises:
            FilterError: the filters are invalid.
            BadQuery: another argument is invalid.
        """
        hits = self._lines.recall(query, top_k, build_condition(filters, DOCUMENT))
        return [replace(_to_document(hit.line), score=hit.relevance) for hit in hits]

    def count_unique_metadata_by_filter(self, filters: Filters, metadata_fields: list[str]) -> dict[str, int]:
        """Return how many different values each field has in the documents that filters allow. Raises FilterError."""
        return meta_values.count_distinct(self._metas(filters), metadata_fields)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each field of the meta."""
        return meta_values.field_types(self._metas())

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the greatest value of a field, under the names `min` and `max`."""
        return meta_values.min_max(self._metas(), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the different values of a field, sorted by their text, and the number of all.

        Args:
            metadata_field: the name of the field.
            search_term: only values whose text contains this, in any case.
            from_: how many values to skip.
            size: the maximum number of values on the page.
            filters: as for `filter_documents`.

        Raises:
            FilterError: the filters are invalid.
        """
        term = (search_term or "").lower()
        values = meta_values.distinct_values(self._metas(filters), metadata_field)
        found = [value for value in values if term in str(value).lower()]
        return found[from_ : from_ + size], len(found)

    def _metas(self, filters: Filters | None = None) -> list[dict[str, Any]]:
        return [document.meta for document in self.filter_documents(filters)]

    def _read(self, filters: Filters | None) -> Iterable[Line]:
        return self._lines.read(build_condition(filters, DOCUMENT))

    # ------------------------------------------------------------------ writing

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Store documents.

        Args:
            documents: the documents.
            policy: what to do with a document whose id is stored: SKIP, OVERWRITE or FAIL, which is also the default.

        Returns:
            The number of documents that were written.

        Raises:
            ValueError: the argument is not a list of documents, or one can't be stored; nothing is stored then.
            DuplicateDocumentError: an id is stored already, or given twice; nothing is stored. If another writer stores
                it at the same time, its document stays, and those of this call are deleted.
            StoreUnavailable: the bank can't be written.
        """
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise BadInput(f"expected a list of Haystack's documents, got {documents!r}")
        if policy is DuplicatePolicy.SKIP:
            first = {document.id: document for document in reversed(documents)}
            return len(self._lines.add([self._to_line(document) for document in reversed(first.values())]))
        if policy is DuplicatePolicy.OVERWRITE:
            self._lines.write([self._to_line(document) for document in documents])
        else:
            self._add_new(documents)
        return len(documents)

    def _add_new(self, documents: list[Document]) -> None:
        """Store documents. Raises DuplicateDocumentError if an id is stored already, or given twice."""
        known: set[str] = set()
        for document in documents:
            if document.id in known or self._lines.find(document.id) is not None:
                raise _duplicate_error(document.id)
            known.add(document.id)
        lines = [self._to_line(document) for document in documents]
        added = self._lines.add(lines)
        if len(added) < len(lines):  # another writer was faster
            self._lines.forget(added)
            stored = {self._lines.id_of(line) for line in added}
            raise _duplicate_error(next(document.id for document in documents if document.id not in stored))

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents, with their earlier versions; ids that are not stored are skipped."""
        self._lines.forget(self._lines.find_all(document_ids))

    def delete_all_documents(self) -> None:
        """Delete all documents."""
        self._lines.forget(self._lines.read())

    def delete_by_filter(self, filters: Filters) -> int:
        """Delete the documents that filters allow, and return their number. Raises FilterError."""
        lines = list(self._read(filters))
        self._lines.forget(lines)
        return len(lines)

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Set fields in the meta of the documents that filters allow.

        Args:
            filters: as for `filter_documents`.
            meta: the new values by name; other fields stay.

        Returns:
            The number of documents.

        Raises:
            FilterError: the filters are invalid.
            BadInput: a value is invalid; nothing is changed.
        """
        documents = [_to_document(line) for line in self._read(filters)]
        self._lines.write([self._to_line(replace(each, meta={**each.meta, **meta})) for each in documents])
        return len(documents)

    def _to_line(self, document: Document) -> NewLine:
        return self._lines.build(document.id, document.content or "", {DOCUMENT: document.to_dict(flatten=False)})

    # -------------------------------------------------------------- in a thread

    async def count_documents_async(self) -> int:
        """Do what `count_documents` does."""
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        """Do what `count_documents_by_filter` does."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(self, filters: Filters | None = None) -> list[Document]:
        """Do what `filter_documents` does."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: Filters, metadata_fields: list[str]
    ) -> dict[str, int]:
        """Do what `count_unique_metadata_by_filter` does."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Do what `get_metadata_fields_info` does."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Do what `get_metadata_field_min_max` does."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """Do what `get_metadata_field_unique_values` does."""
        arguments = metadata_field, search_term, from_, size, filters
        return await asyncio.to_thread(self.get_metadata_field_unique_values, *arguments)

    async def recall_async(self, query: str, filters: Filters | None = None, top_k: int = 10) -> list[Document]:
        """Do what `recall` does."""
        return await asyncio.to_thread(self.recall, query, filters, top_k)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Do what `write_documents` does."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Do what `delete_documents` does."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """Do what `delete_all_documents` does."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: Filters) -> int:
        """Do what `delete_by_filter` does."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Do what `update_by_filter` does."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)


def _duplicate_error(document_id: str) -> DuplicateDocumentError:
    return DuplicateDocumentError(
        f"a document with the id {document_id!r} exists; write it with DuplicatePolicy.OVERWRITE or SKIP"
    )


def _to_document(line: Line) -> Document:
    """Return the document in a line. Its content is the line's text, which may have been corrected since."""
    fields: Any = line.metadata[DOCUMENT]
    return Document.from_dict({**fields, "content": line.text or fields["content"]})
