from __future__ import annotations

import json
import re

import pytest
from hardship.agent import MODES, call, list_tools, offer, text_of

from everthread import Memory
from everthread.mcp.server import MemoryServer
from everthread.mcp.tools import TOOLS


@pytest.fixture
def server(memory: Memory) -> MemoryServer:
    return offer(memory)


@pytest.mark.parametrize("mode", MODES)
def test_openais_clients_see_search_and_fetch(server: MemoryServer, memory: Memory, mode: str) -> None:
    assert [tool.name for tool in list_tools(server, mode, "openai-mcp (ChatGPT)")] == [*TOOLS, "search", "fetch"]
    assert [tool.name for tool in list_tools(server, mode, "claude-ai")] == list(TOOLS)
    everyone = offer(memory, chatgpt=True)
    assert [tool.name for tool in list_tools(everyone, mode)] == [*TOOLS, "search", "fetch"]


def test_a_found_line_is_fetched_with_its_surroundings(server: MemoryServer, memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora", session="a b")
    memory.observe("How exciting!", role="assistant", session="a b")
    results = json.loads(text_of(call(server, "search", query="Where did my sister Mia move? Lisbon?")))["results"]
    assert results[0] == {
        "id": "1",
        "title": "Nora: My sister Mia moved to Lisbon.",
        "url": "everthread://session/a%20b",
    }
    fetched = json.loads(text_of(call(server, "fetch", id=results[0]["id"])))
    assert fetched.keys() == {"id", "title", "text", "url", "metadata"}
    assert "Nora: My sister Mia moved to Lisbon.\nassistant: How exciting!" in fetched["text"]
    assert fetched["metadata"]["session"] == "a b"
    assert fetched["metadata"]["said_at"]
    undated = memory.observe("I like ferns.", undated=True)
    assert json.loads(text_of(call(server, "fetch", id=str(undated.seq))))["metadata"]["said_at"] is None


def test_a_fetched_line_has_no_more_surroundings_than_a_client_shows(server: MemoryServer, memory: Memory) -> None:
    for number in range(5):
        memory.observe(f"Chapter {number}. " + "She sails on. " * 1000, session="book")
    fetched = json.loads(text_of(call(server, "fetch", id="3")))
    assert re.findall(r"Chapter \d", fetched["text"]) == ["Chapter 1", "Chapter 2"]


def test_a_search_without_a_relevant_line_has_no_results(server: MemoryServer) -> None:
    assert json.loads(text_of(call(server, "search", query="quantum chromodynamics"))) == {"results": []}


@pytest.mark.parametrize("id", ["99", "x", "", "²", "-1", "9" * 30, "9" * 5000])
def test_an_unknown_id_is_an_error_with_its_value(server: MemoryServer, id: str) -> None:
    result = call(server, "fetch", id=id)
    assert result.is_error
    assert "there is no line" in text_of(result)
