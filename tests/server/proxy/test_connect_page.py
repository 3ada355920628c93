"""The page docs/connect.md is true: its configurations, its headers, and the code for each SDK."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from hardship import web
from hardship.llm import Raw
from hardship.messages import say

from everthread.cli.main import main
from everthread.mcp.hosts import HOSTS
from server.proxied import FACT, QUESTION, Proxy, bot, user
from server.proxy.clients import AI_SDK, LITELLM_PYTHON, needs_ai_sdk

PAGE = (Path(__file__).parents[3] / "docs" / "connect.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS, KEY, BANK = "http://127.0.0.1:7391", "sk-…", "nora"
TEMPLATE = re.compile(r"\{\{ ?([\w.$]+) ?\}\}")  # that a front end replaces


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(PAGE) if found == language]


def find_block(language: str, part: str) -> str:
    """Return the one block of a language that contains a text."""
    (found,) = [text for text in blocks(language) if part in text]
    return found


def fill(text: str, **values: str) -> str:
    """Replace the templates of a front end by values."""
    return TEMPLATE.sub(lambda match: values[match[1].rpartition(".")[2]], text)


# ------------------------------------------------------------------------------------- configurations


@pytest.mark.parametrize("host", HOSTS)
def test_the_configuration_of_a_host_is_what_the_command_prints(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/abs/path/everthread"])
    printed = CliRunner().invoke(main, ["mcp", "--print-config", host, "--bank", BANK])
    assert printed.exit_code == 0
    assert printed.stdout in [text for _, text in BLOCK.findall(PAGE)]
    assert f"--print-config {host}" in PAGE
    places = re.findall(r"[\w~./]*\w\.(?:json|toml|yaml)", printed.stderr)
    assert all(place in PAGE for place in places)


def test_the_configurations_are_well_formed() -> None:
    assert all(map(json.loads, blocks("json")))
    assert all(map(yaml.safe_load, blocks("yaml")))
    assert all(map(tomllib.loads, blocks("toml")))


def test_the_commands_of_the_page_exist() -> None:
    lines = [line for text in blocks("sh") for line in text.splitlines()]
    commands = [line[line.index("everthread ") :] for line in lines if re.match(r"(EVERTHREAD\S+ )?everthread ", line)]
    assert len(commands) == 3
    for command in commands:
        context, arguments = click.Context(main, **main.context_settings), shlex.split(command, comments=True)[1:]
        group: Any = main
        while isinstance(group, click.Group):
            name, *arguments = arguments
            group = group.get_command(context, name)
        assert group.make_context(name, arguments, parent=context).params


# ------------------------------------------------------------------------------------------ front ends


def post(proxy: Proxy, text: str, *, headers: dict[str, str] | None = None, **fields: Any) -> None:
    body = {"model": "m", "messages": [user(text)], **fields}
    web.post(f"{proxy.url}/v1/chat/completions", json=body, headers=headers).raise_for_status()


def test_the_headers_of_open_webui_name_the_bank_the_session_and_the_task(proxy: Proxy) -> None:
    shown = find_block("json", "{{TASK}}")
    post(proxy, FACT, headers=json.loads(fill(shown, USER_ID=proxy.bank, CHAT_ID="chat", TASK="")))
    post(
        proxy, "Name it.", headers=json.loads(fill(shown, USER_ID=proxy.bank, CHAT_ID="chat", TASK="title_generation"))
    )
    assert proxy.texts == [FACT, "Hello there."]
    assert {line.session for line in proxy.lines} == {"chat"}


def test_the_headers_of_librechat_name_the_bank_and_the_session(proxy: Proxy) -> None:
    (endpoint,) = yaml.safe_load(find_block("yaml", "endpoints:"))["endpoints"]["custom"]
    values = {"LIBRECHAT_USER_ID": proxy.bank, "LIBRECHAT_BODY_CONVERSATIONID": "talk"}
    post(proxy, FACT, headers={name: fill(value, **values) for name, value in endpoint["headers"].items()})
    assert endpoint["baseURL"] == f"{ADDRESS}/v1"
    assert [(line.text, line.session) for line in proxy.lines] == [(FACT, "talk"), ("Hello there.", "talk")]


def test_the_headers_of_continue_name_the_bank(proxy: Proxy) -> None:
    (model,) = yaml.safe_load(find_block("yaml", "roles:"))["models"]
    (name, value), *_ = model["requestOptions"]["headers"].items()
    assert (model["apiBase"], value) == (f"{ADDRESS}/v1", "work")
    post(proxy, FACT, headers={name: proxy.bank})
    assert proxy.texts == [FACT, "Hello there."]


def test_the_fields_of_sillytavern_and_n8n_name_the_bank_and_are_removed(proxy: Proxy) -> None:
    post(proxy, FACT, **yaml.safe_load(fill(find_block("yaml", "{{char}}"), char=proxy.bank)))
    shown = fill(find_block("json", "$json"), sessionId="chat").replace(BANK, proxy.bank)
    post(proxy, QUESTION, **json.loads(shown))
    assert "everthread" not in proxy.upstream.bodies[-1]
    assert FACT in proxy.blocks[0]
    assert [line.session for line in proxy.lines[2:]] == ["chat", "chat"]


def test_the_headers_on_the_page_are_those_that_are_tested() -> None:
    named = set(re.findall(r"X-Everthread-\w+", PAGE))
    assert named == {"X-Everthread-Bank", "X-Everthread-Session", "X-Everthread-Task"}


# ------------------------------------------------------------------------------------------------ SDKs


def adapt(code: str, proxy: Proxy) -> str:
    """Let the code of the page talk to the proxy of the tests, with a bank of this test."""
    return code.replace(ADDRESS, proxy.url).replace(KEY, "sk-client").replace(BANK, proxy.bank)


def check_answered(proxy: Proxy, model: str = "gpt-4o-mini") -> None:
    (asked,) = [body for body in proxy.upstream.bodies if str(body["messages"][-1]["content"]).startswith("Where")][-1:]
    assert asked["model"] == model
    assert proxy.texts == ["Where does my sister live?", "Hello there."]


@pytest.mark.parametrize("sdk", ["from openai", "from langchain_openai"])
def test_the_code_for_an_sdk_works(proxy: Proxy, sdk: str) -> None:
    found: dict[str, Any] = {}
    exec(adapt(find_block("py", sdk), proxy), found)  # noqa: S102
    answer = found["answer"]
    text = answer.choices[0].message.content if sdk == "from openai" else answer.text
    assert text == "Hello there."
    check_answered(proxy)
    if sdk == "from openai":
        found["client"].close()


def test_the_code_for_ollama_works(proxy: Proxy) -> None:
    whole = {"model": "llama3.2", "message": bot("Hello there."), "done": True}
    proxy.upstream.behaviours[:] = [Raw(json.dumps(whole).encode(), "application/json")]
    found: dict[str, Any] = {}
    exec(adapt(find_block("py", "import ollama"), proxy), found)  # noqa: S102
    assert found["answer"].message.content == "Hello there."
    check_answered(proxy, "llama3.2")
    found["client"]._client.close()


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")  # models are retired at a date
def test_the_code_for_anthropic_works(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [say("Hello there.")]
    found: dict[str, Any] = {}
    exec(adapt(find_block("py", "import anthropic"), proxy), found)  # noqa: S102
    assert found["answer"].content[0].text == "Hello there."
    check_answered(proxy, "claude-sonnet-5-5")
    found["client"].close()


@pytest.mark.litellm
def test_the_code_for_litellm_works(proxy: Proxy) -> None:
    code = adapt(find_block("py", "import litellm"), proxy) + "print(answer.choices[0].message.content)"
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    assert subprocess.check_output([LITELLM_PYTHON, "-c", code], text=True, env=environment) == "Hello there.\n"
    check_answered(proxy)


@needs_ai_sdk
def test_the_code_for_the_ai_sdk_works(proxy: Proxy) -> None:
    code = adapt(find_block("js", "createOpenAICompatible"), proxy) + "console.log(answer.text)"
    command = ["node", "--input-type=module", "--eval", code]
    assert subprocess.check_output(command, text=True, cwd=AI_SDK) == "Hello there.\n"
    check_answered(proxy)
