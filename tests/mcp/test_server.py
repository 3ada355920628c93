"""The server as a whole: what each caller sees, and how errors are reported and logged."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hardship.agent import MODES, call, data_of, list_tools, offer, talk, text_of
from mcp import Client, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, TextContent

from everthread import BadInput, Memory
from everthread.cli.mcp import make_keep
from everthread.errors import StoreUnavailable
from everthread.mcp.banks import OpenBanks, Verb
from everthread.mcp.prompts import HABITS, INSTRUCTIONS
from everthread.mcp.server import MemoryServer
from everthread.testing import HashEmbedder

SECRET = bytes(32)
SAID = "My sister Mia moved to Lisbon."


@pytest.fixture
def server(memory: Memory) -> MemoryServer:
    return offer(memory)


class FailingBanks(OpenBanks):
    """Banks whose store can't be read."""

    def open(self, request: object, bank: str | None, verb: Verb) -> Memory:
        raise StoreUnavailable(f"{SAID} is in the way")


class ReaderBanks(OpenBanks):
    """Banks of a caller who may only read them."""

    def may(self, request: object, verb: Verb) -> bool:
        return verb == "read"


@pytest.mark.parametrize("mode", MODES)
def test_the_server_introduces_itself_in_600_characters(server: MemoryServer, mode: str) -> None:
    async def introduce(client: Client) -> tuple[str | None, str]:
        assert client.server_info is not None
        return client.instructions, client.server_info.name

    assert talk(server, introduce, mode) == (INSTRUCTIONS, "everthread")
    assert len(INSTRUCTIONS) <= 600
    assert INSTRUCTIONS in HABITS


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_of_the_memory_is_an_error_without_a_word_of_what_was_said(
    memory: Memory, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = MemoryServer(FailingBanks({"alice": memory}, SECRET, make_keep()))
    with caplog.at_level(logging.DEBUG), pytest.raises(MCPError) as raised:
        call(server, "recall", mode, query=SAID)
    assert raised.value.code == INTERNAL_ERROR
    with caplog.at_level(logging.DEBUG), pytest.raises(MCPError):
        talk(server, lambda client: client.read_resource("everthread://notes"), mode)
    loud = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text.count("StoreUnavailable") for text in loud] == [1, 1]
    assert "Mia" not in f"{raised.value}{loud}{[record.exc_text for record in caplog.records]}"


def test_calls_and_their_errors_write_nothing_to_the_log(
    server: MemoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        call(server, "remember", text=SAID)
        call(server, "recall", query=SAID, k=0)
        call(server, "conversation", session=SAID)
    assert caplog.records == []


def test_a_bank_is_an_argument_only_if_there_are_several(server: MemoryServer, memory: Memory, tmp_path: Path) -> None:
    assert not any("bank" in tool.input_schema["properties"] for tool in list_tools(server))
    with Memory.open("bob", store=tmp_path, embedder=HashEmbedder(64)) as other:
        both = MemoryServer(OpenBanks({"alice": memory, "bob": other}, SECRET, make_keep()))
        assert all("bank" in tool.input_schema["properties"] for tool in list_tools(both))
        call(both, "remember", text=SAID, bank="bob")
        call(both, "remember", text="I planted ferns.")
        assert [[line.text for line in each.lines()] for each in (memory, other)] == [["I planted ferns."], [SAID]]


@pytest.mark.parametrize("mode", MODES)
def test_an_optional_argument_that_is_null_or_blank_counts_as_left_out(
    server: MemoryServer, memory: Memory, mode: str
) -> None:
    call(server, "remember", mode, text=SAID, speaker="", said_at=" ", bank=None)
    (line,) = memory.lines()
    assert line.speaker == "user"
    found = call(
        server, "recall", mode, query="Where did Mia move?", k=None, since="", until=None, speaker="", facts=""
    )
    assert data_of(found)["hits"][0]["text"] == SAID
    assert data_of(call(server, "conversation", mode, session="", around=1))["lines"][0]["text"] == SAID
    assert call(server, "recall", mode, query="").is_error


def test_a_read_only_server_offers_nothing_that_changes_a_bank(memory: Memory) -> None:
    server = offer(memory, read_only=True)
    assert [tool.name for tool in list_tools(server)] == ["recall", "conversation", "sessions"]
    assert call(server, "remember", text=SAID).is_error
    assert list(memory.lines()) == []


def test_a_caller_sees_only_tools_that_it_may_use(memory: Memory) -> None:
    server = MemoryServer(ReaderBanks({"alice": memory}, SECRET, make_keep()))
    assert [tool.name for tool in list_tools(server)] == ["recall", "conversation", "sessions"]


def test_a_choice_of_tools_keeps_their_order(memory: Memory) -> None:
    server = offer(memory, tools=["remember", "recall"])
    assert [tool.name for tool in list_tools(server)] == ["recall", "remember"]


@pytest.mark.parametrize(("tools", "read_only"), [(["recal"], False), ([], False), (["remember"], True)])
def test_an_unknown_or_empty_choice_of_tools_is_refused(memory: Memory, tools: list[str], read_only: bool) -> None:
    with pytest.raises(BadInput, match=r"unknown tool: got 'recal', expected some of recall|no tool is left"):
        offer(memory, tools=tools, read_only=read_only)


@pytest.mark.parametrize("mode", MODES)
def test_the_prompts_can_be_used(server: MemoryServer, mode: str) -> None:
    async def get(client: Client) -> list[str]:
        names = [each.name for each in (await client.list_prompts()).prompts]
        arguments = {"what_do_you_know": {"topic": "Mia"}}
        prompts = [await client.get_prompt(name, arguments.get(name)) for name in names]
        contents = [prompt.messages[0].content for prompt in prompts]
        return names + [content.text for content in contents if isinstance(content, TextContent)]

    names_and_texts = talk(server, get, mode)
    assert names_and_texts[:3] == ["remember_this", "what_do_you_know", "memory_habits"]
    assert "What do you know about Mia?" in names_and_texts[4]
    assert names_and_texts[5] == HABITS


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "word"), [("gone", "Unknown prompt: gone"), ("what_do_you_know", "topic")])
def test_an_unknown_or_incomplete_prompt_is_an_error_of_the_client(
    server: MemoryServer, mode: str, name: str, word: str
) -> None:
    with pytest.raises(MCPError, match=word) as raised:
        talk(server, lambda client: client.get_prompt(name), mode)
    assert raised.value.code == INVALID_PARAMS


def test_no_spans_are_made(server: MemoryServer) -> None:
    assert not [each for each in server.middleware if "Telemetry" in type(each).__name__]


def test_a_result_has_text_for_the_model_and_data_for_the_host(server: MemoryServer) -> None:
    result = call(server, "remember", text=SAID)
    assert (text_of(result), data_of(result)) == ("Kept as line 1.", {"seq": 1, "kept": True})
