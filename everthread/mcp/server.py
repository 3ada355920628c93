"""Builds the MCP server: its tools, resources and prompts, what each caller sees of them, and how errors are reported.

An error that a model can correct is a result with `is_error`. Any other is the protocol's internal error, without a
word of what was said; the log has its type and its position in the code.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Resource,
    ResourceTemplate,
)
from pydantic import AnyUrl, ValidationError

from everthread import __version__
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.mcp import resources
from everthread.mcp.banks import Banks
from everthread.mcp.chatgpt import CHATGPT_TOOLS, CLIENT_NAMES
from everthread.mcp.prompts import INSTRUCTIONS, add_prompts
from everthread.mcp.tools import TOOLS

log = logging.getLogger("everthread.mcp")

ALL_TOOLS = {**TOOLS, **CHATGPT_TOOLS}
MEMORY_FAILED = "the memory failed; the server's log names the error"


class MemoryServer(MCPServer[Banks]):
    """An MCP server of banks."""

    def __init__(
        self, banks: Banks, *, tools: Collection[str] | None = None, read_only: bool = False, chatgpt: bool = False
    ) -> None:
        """Build the server.

        Args:
            banks: the banks.
            tools: names of the tools to offer; None: all.
            read_only: leave out the tools that change a bank.
            chatgpt: offer `search` and `fetch` to every client, not only to OpenAI's.

        Raises:
            BadInput: a tool is unknown, or none is left.
        """
        names = choose_tools(tools, read_only)

        @asynccontextmanager
        async def lifespan(_: MCPServer[Banks]) -> AsyncIterator[Banks]:
            yield banks

        super().__init__(
            "everthread",
            title="Everthread",
            version=__version__,
            instructions=INSTRUCTIONS,
            tools=[ALL_TOOLS[name].tool for name in (*names, *CHATGPT_TOOLS)],
            log_level="WARNING",  # at INFO the SDK logs the messages of errors, which quote arguments
            lifespan=lifespan,
            request_state_security=RequestStateSecurity(keys=[banks.secret]),
            subscriptions=False,
            middleware=[CallerView(names, chatgpt)],
        )
        # No spans: an OpenTelemetry set up in this process would receive names of tools and of people.
        self.middleware[:] = [layer for layer in self.middleware if type(layer).__module__ != "mcp.server._otel"]
        add_prompts(self)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Banks, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Optional arguments that are null or blank count as left out.

        Raises:
            ToolError: the model can correct the error.
            MCPError: the memory failed.
        """
        try:
            return await super().call_tool(name, _without_blank(name, arguments), context)
        except UnexpectedToolError as error:
            cause = error.__cause__ or error
            if isinstance(cause, BadInput | NotFound):
                raise ToolError(str(cause)) from None
            raise _internal_error(cause) from None
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_describe_invalid(error.__cause__)) from None
            raise

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Banks, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Get a prompt. Raises MCPError for an unknown one, and for missing arguments."""
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None

    async def list_resources(self) -> list[Resource]:
        """List the resources."""
        return list(resources.RESOURCES)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """List the templates of resources."""
        return list(resources.TEMPLATES)

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Banks, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Raises:
            MCPError: there is no such resource, or the memory failed.
        """
        if context is None:
            raise BadInput("a resource belongs to a caller's bank; pass the context of a request")
        try:
            text = await to_thread.run_sync(resources.read, context, str(uri))
        except (BadInput, NotFound) as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": str(uri)}) from None
        except EverthreadError as error:
            raise _internal_error(error) from None
        return [ReadResourceContents(content=text, mime_type="text/plain")]


class CallerView:
    """Middleware that shows each caller only the tools and arguments that it can use."""

    def __init__(self, names: Collection[str], chatgpt: bool) -> None:
        """Choose what callers see.

        Args:
            names: the tools for every client.
            chatgpt: whether every client sees `search` and `fetch`.
        """
        self.names, self.chatgpt = names, chatgpt

    async def __call__(self, ctx: ServerRequestContext[Banks, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(result, dict):
            visible = self.visible_names(ctx)
            tools = [tool for tool in result["tools"] if tool["name"] in visible]
            if not ctx.lifespan_context.has_choice(ctx.request):
                tools = [_without_bank(tool) for tool in tools]
            result = {**result, "tools": tools}
        return result

    def visible_names(self, ctx: ServerRequestContext[Banks, Any]) -> set[str]:
        """Return the names of the tools that a caller sees."""
        names = {*self.names, *(CHATGPT_TOOLS if self.chatgpt or _is_openai(ctx) else ())}
        return {name for name in names if ctx.lifespan_context.may(ctx.request, ALL_TOOLS[name].verb)}


def choose_tools(names: Collection[str] | None, read_only: bool) -> list[str]:
    """Return the names of the tools to offer, in their order.

    Raises:
        BadInput: a name is unknown, or no tool is left.
    """
    if unknown := sorted(set(names or ()) - TOOLS.keys()):
        raise BadInput(f"unknown tool: got {unknown[0]!r}, expected some of {', '.join(TOOLS)}")
    chosen = [
        name
        for name, spec in TOOLS.items()
        if (names is None or name in names) and not (read_only and spec.verb != "read")
    ]
    if not chosen:
        raise BadInput("no tool is left to offer; name one that reads, or leave out read_only")
    return chosen


def _without_bank(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool without the argument `bank`: a model can't get an argument wrong that it doesn't have."""
    schema = tool["inputSchema"]
    properties = {name: value for name, value in schema["properties"].items() if name != "bank"}
    return {**tool, "inputSchema": {**schema, "properties": properties}}


def _without_blank(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool without optional ones that say nothing: many models fill in every argument."""
    required = ALL_TOOLS[name].tool.parameters.get("required", ()) if name in ALL_TOOLS else arguments
    return {key: value for key, value in arguments.items() if key in required or not _is_blank(value)}


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_openai(ctx: ServerRequestContext[Banks, Any]) -> bool:
    """Return whether the client names itself OpenAI's."""
    params = ctx.session.client_params
    name = params.client_info.name.lower() if params is not None else ""
    return any(part in name for part in CLIENT_NAMES)


def _describe_invalid(error: ValidationError) -> str:
    """Describe invalid arguments: which, what was given, and what is expected."""
    problems = []
    for fault in error.errors(include_url=False):
        name, given = ".".join(map(str, fault["loc"])), repr(fault["input"])
        got = "nothing" if fault["type"] == "missing" else given if len(given) <= 80 else f"{given[:80]} …"
        problems.append(f"invalid {name}: got {got}; {fault['msg'][:1].lower()}{fault['msg'][1:]}")
    return "; ".join(problems)


def _internal_error(error: BaseException) -> MCPError:
    """Log the type and the position of an error, and return the protocol's error for it."""
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    log.error("the memory failed: %s at %s", type(error).__name__, frames[-1] if frames else "?")
    return MCPError(INTERNAL_ERROR, MEMORY_FAILED)
