"""LangChain's retriever and vector store on a bank, and its embeddings as an embedder."""

from everthread.compat.langchain.embedder import LangChainEmbedder
from everthread.compat.langchain.retriever import EverthreadRetriever
from everthread.compat.langchain.vector_store import EverthreadVectorStore

__all__ = ["EverthreadRetriever", "EverthreadVectorStore", "LangChainEmbedder"]
