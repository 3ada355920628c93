"""The drop-ins that can use banks of a server, with such banks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentSession, ContextProvider, Message, SessionContext
from hardship.loopback import serve_app
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from everthread import Client
from everthread.compat.agent_framework import EverthreadContextProvider, EverthreadHistoryProvider
from everthread.compat.haystack import EverthreadDocumentStore
from everthread.compat.langchain import EverthreadRetriever, EverthreadVectorStore
from everthread.compat.langgraph import EverthreadStore
from everthread.compat.openai_agents import EverthreadSession
from everthread.compat.pydantic_ai import EverthreadRecall
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    banks = SQLiteStore(Path(tmp_path_factory.mktemp("served")))
    yield banks
    banks.close()


@pytest.fixture(scope="module")
def url(banks: SQLiteStore) -> Iterator[str]:
    with serve_app(create_app(Services(banks, HashEmbedder(64), None, Default()))) as url:
        yield url


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


def test_documents_on_a_server_are_found_replaced_and_deleted(url: str) -> None:
    with Client(url, "manuals") as bank:
        store = EverthreadVectorStore(bank)
        assert store.similarity_search("button") == store.get_by_ids(["1"]) == []
        store.delete()
        store.add_texts(["Press the red button.", "Clean the filter."], [{"page": 7}, {"page": 12}], ids=["1", "2"])
        store.add_texts(["Press the green button."], [{"page": 8}], ids=["1"])
        found = store.similarity_search("Which button?", filter={"page": {"$lt": 12}})
        assert [(each.id, each.page_content, each.metadata) for each in found] == [
            ("1", "Press the green button.", {"page": 8})
        ]
        with pytest.raises(NotImplementedError, match="use search_type='similarity'"):
            store.max_marginal_relevance_search("button")
        store.delete(["1"])
        assert [each.id for each in store.get_by_ids(["1", "2"])] == ["2"]
        store.delete()
        assert store.get_by_ids(["2"]) == []


def test_several_documents_on_a_server_are_deleted_at_once(url: str, banks: SQLiteStore) -> None:
    with Client(url, "leaflets") as bank:
        store = EverthreadVectorStore(bank)
        store.add_texts(["Press the red button."] * 5, ids=list("abcde"))
        store.delete(list("abcdx"))
        assert [each.id for each in store.get_by_ids(list("abcde"))] == ["e"]
    assert [receipt.lines for receipt in banks.receipts("leaflets")] == [4]


def test_documents_of_haystack_are_found_on_a_server(url: str) -> None:
    with Client(url, "haystack") as bank:
        store = EverthreadDocumentStore(bank)
        assert store.filter_documents() == store.recall("button") == []
        store.delete_all_documents()
        store.write_documents([Document("1", content="Press the red button.", meta={"page": 7}), Document("2")])
        store.write_documents([Document("1", content="Press the green button.")], DuplicatePolicy.OVERWRITE)
        (found,) = store.recall("Which button?", {"field": "meta.page", "operator": "==", "value": None})
        assert (found.id, found.content) == ("1", "Press the green button.")
        assert store.delete_by_filter({"field": "content", "operator": "==", "value": None}) == 1
        assert store.count_documents() == 1
        store.delete_all_documents()
        assert store.count_documents() == 0


def test_an_agent_of_the_agent_framework_remembers_in_a_bank_on_a_server(url: str) -> None:
    async def ask(question: str, session: str, *providers: ContextProvider) -> str:
        agent: Any = None  # is not used
        context = SessionContext(session_id=session, input_messages=[Message("user", [question])])
        for provider in providers:
            await provider.before_run(agent=agent, session=AgentSession(), context=context, state={})
            await provider.after_run(agent=agent, session=AgentSession(), context=context, state={})
        return "\n".join(context.instructions)

    with Client(url, "mia") as bank:
        history, recalling = EverthreadHistoryProvider(bank), EverthreadContextProvider(bank, writable=False)
        assert asyncio.run(ask("My sister Mia moved to Oslo.", "s", recalling, history)) == ""
        assert "user: My sister Mia moved to Oslo." in asyncio.run(ask("Where did my sister Mia move?", "t", recalling))
        assert [message.text for message in asyncio.run(history.get_messages("s"))] == ["My sister Mia moved to Oslo."]


def test_a_retriever_reads_a_bank_on_a_server(url: str) -> None:
    with Client(url, "zoe") as bank:
        retriever = EverthreadRetriever(memory=bank, dated=False)
        assert retriever.invoke("Where is Mia?") == []
        bank.observe("Mia is in Lisbon.")
        assert [each.page_content for each in retriever.invoke("Where is Mia?")] == ["Mia is in Lisbon."]
        gated = EverthreadRetriever(memory=bank, gated=True)
        assert gated.invoke("What is 17 times 4?") == []


def test_an_agent_recalls_what_a_bank_on_a_server_knows(url: str) -> None:
    def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(str(messages[-1].parts))])

    with Client(url, "eve") as bank:
        agent = Agent(FunctionModel(reply), capabilities=[EverthreadRecall(bank)])
        assert "Oslo" not in asyncio.run(agent.run("Where did my sister Mia move?")).output
        bank.observe("My sister Mia moved to Oslo.", speaker="Eve")
        assert "Eve: My sister Mia moved to Oslo." in asyncio.run(agent.run("Where did my sister Mia move?")).output
