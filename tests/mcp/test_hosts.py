from __future__ import annotations

import json
import shlex
import tomllib

import pytest

from everthread.errors import BadInput
from everthread.mcp.hosts import HOSTS, SERVER_URL, format_config

COMMAND = ["/opt/my tools/everthread", "mcp", "--bank", 'the "best"']


@pytest.mark.parametrize(("host", "key"), [("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")])
def test_hosts_with_json_start_the_command(host: str, key: str) -> None:
    text, _ = format_config(host, COMMAND)
    server = json.loads(text)[key]["everthread"]
    assert [server["command"], *server["args"]] == COMMAND
    assert server.get("type", "stdio") == "stdio"


def test_codex_starts_the_command_by_toml() -> None:
    server = tomllib.loads(format_config("codex", COMMAND)[0])["mcp_servers"]["everthread"]
    assert [server["command"], *server["args"]] == COMMAND


def test_claude_code_is_given_the_command_after_two_dashes() -> None:
    words = shlex.split(format_config("claude-code", COMMAND)[0])
    assert words[:5] == ["claude", "mcp", "add", "everthread", "--"]
    assert words[5:] == COMMAND


def test_librechat_starts_the_command_by_yaml() -> None:
    text, place = format_config("librechat", COMMAND)
    rows = dict(row.strip().split(": ", 1) for row in text.splitlines()[2:])
    assert (json.loads(rows["command"]), json.loads(rows["args"]), rows["type"]) == (COMMAND[0], COMMAND[1:], "stdio")
    assert place == "librechat.yaml"


def test_open_webui_is_given_the_url_of_the_server() -> None:
    assert format_config("openwebui", COMMAND)[0] == SERVER_URL


def test_each_host_names_where_its_configuration_belongs() -> None:
    assert all(format_config(host, COMMAND)[1] for host in HOSTS)


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(BadInput, match=r"unknown host: got 'emacs', expected one of claude, claude-code"):
        format_config("emacs", COMMAND)
