"""LangGraph's store and the Agents SDK's session in banks of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hardship.loopback import serve_app

from everthread import Client
from everthread.compat.langgraph import EverthreadStore
from everthread.compat.openai_agents import EverthreadSession
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    banks = SQLiteStore(Path(tmp_path_factory.mktemp("served")))
    with serve_app(create_app(Services(banks, HashEmbedder(64), None, Default()))) as url:
        yield url
    banks.close()


def test_a_store_on_a_server_has_the_items_of_a_bank_there(url: str) -> None:
    with Client(url, "bob") as bank:
        store = EverthreadStore(bank)
        assert store.get(("a",), "home") is None
        assert store.search((), query="Where is Bob?") == store.list_namespaces() == []
        store.delete(("a",), "home")
        store.put(("a",), "home", {"text": "Bob lives in Rome."})
        store.put(("a",), "home", {"text": "Bob lives in Oslo.", "n": 2})
        store.put(("a", "b"), "hidden", {"n": 3}, index=False)
        found = store.search(("a",), query="Where is Bob?")
        assert [(item.key, item.value["n"]) for item in found] == [("home", 2), ("hidden", 3)]
        assert [item.key for item in store.search((), filter={"n": {"$gt": 2}})] == ["hidden"]
        assert store.list_namespaces() == [("a",), ("a", "b")]
        store.delete(("a",), "home")
        assert store.get(("a",), "home") is None


def test_a_session_on_a_server_has_the_items_of_a_bank_there(url: str) -> None:
    async def use(session: EverthreadSession) -> None:
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()
        said, call = {"role": "user", "content": "Hello."}, {"type": "function_call", "name": "clock", "call_id": "1"}
        await session.add_items([said, call])
        assert await session.get_items(1) == [call]
        assert await session.pop_item() == call
        assert await session.get_items() == [said]
        await session.clear_session()
        assert await session.get_items() == []

    with Client(url, "ann") as bank:
        asyncio.run(use(EverthreadSession("s", bank)))
