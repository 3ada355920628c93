from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hardship.agent import MODES, call, data_of, offer, talk
from mcp import MCPError
from mcp_types import INVALID_PARAMS, TextContent, TextResourceContents

from everthread import BadInput, Memory, NewLine
from everthread.mcp.server import MemoryServer
from everthread.text.tokens import estimate_tokens

NOON = datetime(2024, 6, 2, 12, tzinfo=UTC)


@pytest.fixture
def server(memory: Memory) -> MemoryServer:
    return offer(memory)


def read(server: MemoryServer, uri: str, mode: str = MODES[0]) -> str:
    contents = talk(server, lambda client: client.read_resource(uri), mode).contents[0]
    assert isinstance(contents, TextResourceContents)
    assert contents.mime_type == "text/plain"
    return contents.text


@pytest.mark.parametrize("mode", MODES)
def test_the_resources_are_listed(server: MemoryServer, mode: str) -> None:
    listed = talk(server, lambda client: client.list_resources(), mode).resources
    assert [each.uri for each in listed] == ["everthread://notes", "everthread://today"]
    templates = talk(server, lambda client: client.list_resource_templates(), mode).resource_templates
    assert [each.uri_template for each in templates] == [
        "everthread://session/{name}",
        "everthread://receipt/{n}",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_session_is_read_with_its_dates(server: MemoryServer, memory: Memory, mode: str) -> None:
    memory.observe("I planted ferns.", speaker="Nora", said_at=NOON, session="a/b ü")
    expected = "[Sunday, 2 June 2024, 12:00]\nNora: I planted ferns."
    assert read(server, "everthread://session/a%2Fb%20%C3%BC", mode) == expected


def test_the_notes_are_the_current_ones(server: MemoryServer, memory: Memory) -> None:
    assert read(server, "everthread://notes") == ""
    memory.observe("Mia moved.", said_at=NOON)
    memory.set_notes("Mia lives in Porto.")
    memory.set_notes("Mia lives in Lisbon.")
    assert read(server, "everthread://notes") == "Mia lives in Lisbon."


def test_today_is_what_was_said_in_the_last_day(server: MemoryServer, memory: Memory) -> None:
    memory.observe("Long ago.", said_at=NOON)
    assert read(server, "everthread://today") == ""
    memory.observe("Just now.")
    assert read(server, "everthread://today").endswith("user: Just now.")


def test_a_long_resource_has_the_latest_lines(server: MemoryServer, memory: Memory) -> None:
    memory.observe_many(
        NewLine(f"Day {day}: she sails on. {'Past the cape. ' * 40}", session="log") for day in range(200)
    )
    for uri in ("everthread://session/log", "everthread://today"):
        text = read(server, uri)
        assert text.startswith("[Earlier lines are left out, ")
        assert ("Day 199: " in text, 5_000 < estimate_tokens(text) < 15_000) == (True, True)
    memory.set_notes("She sails on. " * 5_000)
    assert estimate_tokens(read(server, "everthread://notes")) < 15_000


def test_a_receipt_is_read_by_the_number_that_forgetting_returned(server: MemoryServer, memory: Memory) -> None:
    memory.observe_many([NewLine("One."), NewLine("Two.")])
    memory.forget(seq=1)
    token = data_of(call(server, "forget", seq=2))["confirm"]
    result = call(server, "forget", seq=2, confirm=token)
    assert isinstance(result.content[1], TextContent)
    assert result.content[1].text == "The receipt is everthread://receipt/2."
    assert json.loads(read(server, "everthread://receipt/2")) == data_of(result)["receipt"]
    assert json.loads(read(server, "everthread://receipt/1"))["seqs"] == [[1, 1]]


def test_a_receipt_of_many_ranges_has_the_first_ones_and_their_number(server: MemoryServer, memory: Memory) -> None:
    memory.observe_many(NewLine(f"Gull {n}.", session=("flight", "nest")[n % 2]) for n in range(3000))
    token = data_of(call(server, "forget", session="flight"))["confirm"]
    result = call(server, "forget", session="flight", confirm=token)
    assert isinstance(result.content[1], TextContent)
    assert result.content[1].text == (
        "The receipt is everthread://receipt/1; of its 1,500 ranges of lines, the first 20 are here."
    )
    receipt = data_of(result)["receipt"]
    assert (receipt["seqs"][-1], len(receipt["seqs"]), receipt["ranges"], receipt["lines"]) == (
        [39, 39],
        20,
        1500,
        1500,
    )
    text = read(server, "everthread://receipt/1")
    assert estimate_tokens(text) < 15_000
    assert json.loads(text) == {**receipt, "seqs": [[seq, seq] for seq in range(1, 2000, 2)]}
    (stored,) = memory.store.receipts(memory.bank)
    assert len(stored.seqs) == 1500


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "uri",
    [
        "everthread://receipt/1",
        "everthread://receipt/²",
        "everthread://session/gone",
        "everthread://secrets",
        "file:///etc/passwd",
    ],
)
def test_an_unknown_resource_is_an_error_with_its_name(server: MemoryServer, mode: str, uri: str) -> None:
    with pytest.raises(MCPError, match="there is no") as raised:
        read(server, uri, mode)
    assert raised.value.code == INVALID_PARAMS


async def _read_without_caller(server: MemoryServer) -> None:
    await server.read_resource("everthread://notes")


def test_a_resource_is_not_read_without_a_caller(server: MemoryServer) -> None:
    with pytest.raises(BadInput, match="context of a request"):
        talk(server, lambda _: _read_without_caller(server))
