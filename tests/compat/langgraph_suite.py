"""Runs the tests of LangGraph's SQLite store, unchanged, with ours in its place: `python langgraph_suite.py FOLDER`.

FOLDER has the unpacked source of langgraph-checkpoint-sqlite. Exits with 1 if a test fails that `LEFT_OUT` doesn't
name.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from langchain_core.embeddings import Embeddings

from everthread import Memory
from everthread.compat.langchain import LangChainEmbedder
from everthread.compat.langgraph import EverthreadStore
from everthread.testing import HashEmbedder

SQL = "tests the SQL of SQLite's store"
LEFT_OUT: Mapping[str, str] = {
    "test_vector_store_initialization": SQL,
    "test_nonnull_migrations": SQL,
    "test_escape_glob_literal": SQL,
    "test_namespace_match_pattern": SQL,
    "test_list_namespaces_prefix_uses_indexable_condition": SQL,
    "test_scores": "expects the cosine as the score; ours is the relevance, a probability",
    "test_embed_with_path": "expects a cosine above 0.9 for two items with the same word; ours share the relevance",
}


class SuiteStore(EverthreadStore):
    """Our store, opened as the suite opens SQLite's."""

    index_config: dict[str, Any] | None
    embeddings: Embeddings | None

    @classmethod
    @contextmanager
    def from_conn_string(cls, name: str, index: dict[str, Any] | None = None) -> Iterator[SuiteStore]:
        embedder = LangChainEmbedder(index["embed"]) if index else HashEmbedder()
        with tempfile.TemporaryDirectory() as folder, Memory.open("suite", store=folder, embedder=embedder) as memory:
            store = cls(memory, (index or {}).get("text_fields") or ())
            store.index_config, store.embeddings = index, index["embed"] if index else None
            yield store

    def setup(self) -> None:
        """Do nothing: the bank is ready."""


def install() -> None:
    """Put our store in the place of SQLite's."""
    sqlite, base = ModuleType("langgraph.store.sqlite"), ModuleType("langgraph.store.sqlite.base")
    cast("Any", sqlite).SqliteStore = SuiteStore
    for name in (
        "NS_MATCH_FUNCTION",
        "BaseSqliteStore",
        "SqliteIndexConfig",
        "_escape_glob_literal",
        "_namespace_match_pattern",
    ):
        setattr(base, name, None)
    sys.modules |= {sqlite.__name__: sqlite, base.__name__: base}


if __name__ == "__main__":
    install()
    suite = next(Path(sys.argv[1]).glob("*/tests/test_store.py"))
    left_out = [f"--deselect={suite.name}::{name}" for name in LEFT_OUT]
    options = [
        "-q",
        "-n0",
        "-c",
        "/dev/null",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:langsmith_plugin",
        f"--rootdir={suite.parent}",
    ]
    sys.exit(pytest.main([*options, *left_out, str(suite), *sys.argv[2:]]))
