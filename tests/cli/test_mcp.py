"""`everthread mcp`: a process that the SDK's client starts, and the configurations of hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hardship import PATIENCE
from hardship.agent import Person, data_of, talk, text_of
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Tool

from everthread import Memory
from everthread.cli.main import main
from everthread.testing import HashEmbedder

SAID = "My sister Mia moved to Lisbon."


def start(store: Path, *options: str) -> StdioServerParameters:
    """Return how a host starts the command."""
    arguments = ["-m", "everthread", "--embedder", "hash", "mcp", "--store", str(store), *options]
    environment = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "XDG"))}
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["mcp", *arguments])


def test_a_host_remembers_recalls_and_forgets_over_standard_input_and_output(tmp_path: Path) -> None:
    person = Person("accept", {})

    async def act(client: Client) -> list[str]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("remember", {"text": SAID, "speaker": "Nora", "said_at": "2024-06-02T12:00Z"}),
            ("recall", {"query": "Where did my sister Mia move? Lisbon?"}),
            ("recall", {"query": "x", "k": 99}),
            ("forget", {"seq": 1}),
        ]
        return [text_of(await client.call_tool(*each)) for each in calls]

    kept, recalled, refused, forgotten = talk(start(tmp_path, "--bank", "nora"), act, person=person)
    assert (kept, forgotten) == ("Kept as line 1.", "Forgot 1 line for good.")
    assert recalled == f"[Sunday, 2 June 2024, 12:00]\nNora: {SAID}"
    assert "invalid k: got 99" in refused
    assert person.asked == [f"Forget line 1, '{SAID}', of 2 June 2024 for good?"]
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        assert list(memory.lines()) == []


def test_a_read_only_server_of_two_banks_offers_a_choice_and_changes_nothing(tmp_path: Path) -> None:
    for bank in ("nora", "bob"):
        with Memory.open(bank, store=tmp_path, embedder=HashEmbedder(64)) as memory:
            memory.observe(f"{bank} planted ferns.")
    server = start(tmp_path, "--bank", "nora", "--bank", "bob", "--read-only", "--tools", "sessions,recall")

    async def act(client: Client) -> tuple[list[Tool], CallToolResult]:
        listed = await client.list_tools()
        return listed.tools, await client.call_tool("recall", {"query": "Who planted ferns, bob?", "bank": "bob"})

    tools, result = talk(server, act)
    assert [(tool.name, "bank" in tool.input_schema["properties"]) for tool in tools] == [
        ("recall", True),
        ("sessions", True),
    ]
    assert data_of(result)["hits"][0]["text"] == "bob planted ferns."


def test_nothing_that_was_said_is_written_to_standard_error(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages = [
        {**request, "params": parameters},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {**request, "id": 2, "method": "tools/call", "params": {"name": "remember", "arguments": {"text": SAID}}},
        {**request, "id": 3, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": [SAID]}}},
        {**request, "id": 4, "method": SAID},
    ]
    malformed = [{**request, "id": 5, "method": "tools/call", "params": [SAID]}, SAID]
    server = start(tmp_path)
    with subprocess.Popen(
        [server.command, *server.args], stdin=-1, stdout=-1, stderr=-1, text=True, env=server.env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{json.dumps(message)}\n" for message in (*malformed, *messages)))
        process.stdin.flush()
        answered: set[object] = set()
        while not answered >= {1, 2, 3, 4}:
            answered.add(json.loads(process.stdout.readline())["id"])
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Mia" not in err


def test_the_command_does_not_load_the_web_framework(tmp_path: Path) -> None:
    code = (
        "import sys, everthread.cli.mcp\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'fastapi', 'onnxruntime', 'prometheus_client', 'torch'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "[]\n"


def test_a_configuration_starts_this_program_with_absolute_paths(tmp_path: Path) -> None:
    arguments = ("--bank", "nora", "--store", str(tmp_path), "--read-only", "--tools", "recall")
    printed = run("--print-config", "claude", *arguments)
    server = json.loads(printed.stdout)["mcpServers"]["everthread"]
    assert Path(server["command"]).is_absolute()
    assert server["args"][-8:] == ["mcp", *arguments]
    assert "claude_desktop_config.json" in printed.stderr
    assert "mcp --bank default" in run("--print-config", "claude-code").stdout
    with_embedder = CliRunner().invoke(main, ["--embedder", "hash", "mcp", "--print-config", "claude-code"])
    assert "--embedder hash mcp --bank default" in with_embedder.stdout


def test_a_configuration_names_the_banks_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--store" not in run("--print-config", "claude-code").stdout
    monkeypatch.setenv("EVERTHREAD_STORE", "/banks/mine")
    assert "mcp --bank default --store /banks/mine" in run("--print-config", "claude-code").stdout
    monkeypatch.setenv("EVERTHREAD_STORE", "postgresql://me@host/memories")
    assert "--store postgresql://me@host/memories" in run("--print-config", "claude-code").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--print-config", "emacs"], "'emacs' is not one of 'claude'"),
        (["--tools", "recal"], "unknown tool: got 'recal', expected some of recall"),
        (["--tools", " , "], "no tool is left"),
        (["--read-only", "--bank", "gone"], "there is no bank 'gone', and --read-only creates none"),
        (["--bank", ""], "bank"),
    ],
)
def test_an_invalid_option_is_refused_with_its_value(tmp_path: Path, arguments: list[str], message: str) -> None:
    store = tmp_path / "banks"
    store.mkdir()
    refused = run("--store", str(store), *arguments)
    assert refused.exit_code == 2, refused.output
    assert message in refused.stderr
