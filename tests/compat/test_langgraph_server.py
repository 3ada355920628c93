"""LangGraph's store on a bank of a server."""

from __future__ import annotations

from pathlib import Path

from hardship.loopback import serve_app

from everthread import Client
from everthread.compat.langgraph import EverthreadStore
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


def test_a_store_on_a_server_has_the_items_of_a_bank_there(tmp_path: Path) -> None:
    banks = SQLiteStore(tmp_path)
    with serve_app(create_app(Services(banks, HashEmbedder(64), None, Default()))) as url, Client(url, "bob") as bank:
        store = EverthreadStore(bank)
        assert store.get(("a",), "home") is None
        assert store.search((), query="Where is Bob?") == store.list_namespaces() == []
        store.delete(("a",), "home")
        store.put(("a",), "home", {"text": "Bob lives in Rome."})
        store.put(("a",), "home", {"text": "Bob lives in Oslo.", "n": 2})
        store.put(("a", "b"), "hidden", {"n": 3}, index=False)
        assert [(item.key, item.value["n"]) for item in store.search(("a",), query="Where is Bob?")] == [
            ("home", 2),
            ("hidden", 3),
        ]
        assert [item.key for item in store.search((), filter={"n": {"$gt": 2}})] == ["hidden"]
        assert store.list_namespaces() == [("a",), ("a", "b")]
        store.delete(("a",), "home")
        assert store.get(("a",), "home") is None
    banks.close()
