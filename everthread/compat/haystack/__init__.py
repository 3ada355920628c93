"""Haystack's document store in a bank, and the retriever for its pipelines."""

from everthread.compat.haystack.document_store import EverthreadDocumentStore
from everthread.compat.haystack.retriever import EverthreadRetriever

__all__ = ["EverthreadDocumentStore", "EverthreadRetriever"]
