"""The configurations that hosts need to use the server. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from everthread.common.shell import join
from everthread.errors import BadInput

NAME = "everthread"
SERVER_URL = "http://127.0.0.1:7391/mcp"  # of `everthread serve` with its default port

Command = Sequence[str]  # the absolute path of the program, and its arguments


def format_config(host: str, command: Command) -> tuple[str, str]:
    """Return the configuration of a host, and where it belongs.

    Args:
        host: one of HOSTS.
        command: starts the server; hosts run it with a nearly empty PATH.

    Raises:
        BadInput: the host is unknown.
    """
    if host not in HOSTS:
        raise BadInput(f"unknown host: got {host!r}, expected one of {', '.join(HOSTS)}")
    place, format_for = HOSTS[host]
    return format_for(command), place


def _stdio(command: Command) -> dict[str, object]:
    return {"command": command[0], "args": list(command[1:])}


def _mcp_servers(command: Command) -> str:
    return json.dumps({"mcpServers": {NAME: _stdio(command)}}, indent=2)


def _vscode(command: Command) -> str:
    return json.dumps({"servers": {NAME: {"type": "stdio", **_stdio(command)}}}, indent=2)


def _claude_code(command: Command) -> str:
    return f"claude mcp add {NAME} -- {join(command)}"


def _codex(command: Command) -> str:
    """Format TOML, whose basic strings and arrays of them are written as in JSON."""
    return f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(list(command[1:]))}"


def _librechat(command: Command) -> str:
    """Format YAML, of which JSON is a part."""
    args = json.dumps(list(command[1:]))
    return f"mcpServers:\n  {NAME}:\n    type: stdio\n    command: {json.dumps(command[0])}\n    args: {args}"


def _open_webui(command: Command) -> str:
    return SERVER_URL


HOSTS: dict[str, tuple[str, Callable[[Command], str]]] = {
    "claude": (
        "claude_desktop_config.json: Settings, Developer, Edit Config; then quit Claude Desktop and start it again",
        _mcp_servers,
    ),
    "claude-code": ("run this command in a shell", _claude_code),
    "cursor": (".cursor/mcp.json of a project, or ~/.cursor/mcp.json", _mcp_servers),
    "vscode": (".vscode/mcp.json of a project", _vscode),
    "codex": ("~/.codex/config.toml", _codex),
    "librechat": ("librechat.yaml", _librechat),
    "openwebui": (
        "Admin, Integrations, External Tool Servers, type MCP Streamable HTTP, with a key of `everthread keys new` as "
        "bearer token; `everthread serve` must run",
        _open_webui,
    ),
}
