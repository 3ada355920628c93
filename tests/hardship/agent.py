"""An agent's client of an MCP server, of either generation of the protocol, in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation, TextContent, Tool

from everthread import Memory
from everthread.cli.mcp import make_keep
from everthread.errors import EverthreadError
from everthread.mcp.banks import OpenBanks
from everthread.mcp.server import MemoryServer

Action = Literal["accept", "decline", "cancel"]
Result = TypeVar("Result")
MODES = ("auto", "legacy")  # of the protocol


def offer(memory: Memory, **options: Any) -> MemoryServer:
    """Return an MCP server of one bank."""
    return MemoryServer(OpenBanks({memory.bank: memory}, bytes(32), make_keep()), **options)


class Person:
    """Answers the questions that a client shows, and records them."""

    def __init__(self, action: Action, content: dict[str, Any] | None = None) -> None:
        self.action, self.content = action, content
        self.asked: list[str] = []

    async def answer(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action=self.action, content=self.content)


def talk(
    server: Any,
    act: Callable[[Client], Awaitable[Result]],
    mode: str = MODES[0],
    person: Person | None = None,
    name: str = "test",
) -> Result:
    """Connect to a server, act, and return the result.

    Args:
        server: anything that the SDK's client connects to.
        act: what to do with the client.
        mode: the generation of the protocol.
        person: who answers questions; None: the client can't ask.
        name: the client's own.
    """

    async def run() -> Result:
        callback = None if person is None else person.answer
        info = Implementation(name=name, version="1")
        error: Exception | None = None  # raised after the block, which would wrap it in groups
        async with Client(server, mode=mode, elicitation_callback=callback, client_info=info) as client:
            try:
                return await act(client)
            except (MCPError, EverthreadError) as raised:
                error = raised
        raise error

    return asyncio.run(run())


def call(
    server: Any, tool: str, mode: str = MODES[0], person: Person | None = None, **arguments: Any
) -> CallToolResult:
    """Call one tool."""
    return talk(server, lambda client: client.call_tool(tool, arguments), mode, person)


def list_tools(server: Any, mode: str = MODES[0], name: str = "test") -> list[Tool]:
    """List the tools that a client of this name sees."""
    return talk(server, lambda client: client.list_tools(), mode, name=name).tools


def text_of(result: CallToolResult) -> str:
    """Return the first text of a result."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def data_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content of a result that is no error."""
    assert not result.is_error, result
    assert result.structured_content is not None
    data: dict[str, Any] = result.structured_content
    return data
