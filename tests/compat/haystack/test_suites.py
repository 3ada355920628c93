"""Haystack's own tests of a document store, unchanged, without those in `conftest.LEFT_OUT`."""

from __future__ import annotations

import pytest
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DocumentStore
from haystack.testing import document_store as suite
from haystack.testing import document_store_async as async_suite

from everthread import Memory
from everthread.compat.haystack import EverthreadDocumentStore

DOCUMENT = Document(content="Press the red button to stop.", meta={"page": 7})


@pytest.fixture
def anyio_backend() -> str:
    """Return the event loop by which anyio runs the asynchronous tests."""
    return "asyncio"


class OurStore:
    """The store in an empty bank."""

    @pytest.fixture
    def document_store(self, memory: Memory) -> EverthreadDocumentStore:
        return EverthreadDocumentStore(memory)


class TestDocumentStore(
    OurStore,
    suite.DocumentStoreBaseExtendedTests,
    suite.CountDocumentsByFilterTest,
    suite.CountUniqueMetadataByFilterTest,
    suite.GetMetadataFieldMinMaxTest,
    suite.GetMetadataFieldUniqueValuesTest,
    suite.GetMetadataFieldsInfoTest,
):
    """The store's methods."""

    def test_write_documents(self, document_store: DocumentStore) -> None:
        """Fill in the test of the default policy, which the suite leaves to each store: FAIL."""
        assert document_store.write_documents([DOCUMENT]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([DOCUMENT])


@pytest.mark.usefixtures("anyio_backend")
class TestAsynchronousMethods(
    OurStore,
    async_suite.CountDocumentsAsyncTest,
    async_suite.CountDocumentsByFilterAsyncTest,
    async_suite.CountUniqueMetadataByFilterAsyncTest,
    async_suite.DeleteAllAsyncTest,
    async_suite.DeleteByFilterAsyncTest,
    async_suite.DeleteDocumentsAsyncTest,
    async_suite.FilterDocumentsAsyncTest,
    async_suite.GetMetadataFieldMinMaxAsyncTest,
    async_suite.GetMetadataFieldUniqueValuesAsyncTest,
    async_suite.GetMetadataFieldsInfoAsyncTest,
    async_suite.UpdateByFilterAsyncTest,
    async_suite.WriteDocumentsAsyncTest,
):
    """The store's asynchronous methods."""

    async def test_write_documents_async(self, document_store: EverthreadDocumentStore) -> None:
        """Fill in the test of the default policy, as above."""
        assert await document_store.write_documents_async([DOCUMENT]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([DOCUMENT])
