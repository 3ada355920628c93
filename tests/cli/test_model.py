"""`everthread model`: the connection that the terminal and the page share."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hardship import llm

from everthread.cli.main import main
from everthread.server.models.connection_file import ConnectionFile, StoredModel
from everthread.stores.sqlite.store import SQLiteStore

KEY = "sk-very-secret"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "banks"


@pytest.fixture
def server() -> Iterator[llm.Server]:
    with llm.llm_server("Hello there.", models=["m", "large"]) as server:
        yield server


def run(store: Path, *arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["--store", str(store), *arguments], input=stdin)


def model(store: Path, *arguments: str, stdin: str = "") -> Result:
    result = run(store, "model", *arguments, stdin=stdin)
    assert KEY not in result.output
    return result


def chat(store: Path, *arguments: str) -> str:
    result = run(store, "--embedder", "hash", "chat", "--json", *arguments, stdin="Hi.\n")
    assert result.exit_code == 0, result.stderr
    return str(json.loads(result.stdout)["reply"])


def test_the_model_that_is_connected_replies_in_the_terminal_until_it_is_disconnected(
    store: Path, server: llm.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model(store, "show").stdout.startswith("no model (none connected, none found)")
    connected = model(store, "connect", server.host, "m", "--key", stdin=f"{KEY}\n")
    assert connected.stdout == f"connected m at {server.url}\n", connected.stderr
    file = store / "model.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert model(store, "show").stdout == f"m at {server.url} (connected)\n"
    shown = json.loads(model(store, "show", "--json").stdout)
    assert shown == {"model": "m", "url": server.url, "has_key": True, "from": "connected"}
    assert model(store, "test").stdout == f"m at {server.url} replies\n"
    assert chat(store) == "Hello there."
    assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    assert "m (no request was sent)" in run(store, "--embedder", "hash", "doctor").stdout
    assert chat(store, "--model", "none") == "None"
    with llm.llm_server("Good morning.", models=["other"]) as other:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", other.url)
        assert chat(store) == "Good morning."
        assert model(store, "show").stdout == f"other at {other.url} (set by EVERTHREAD_LLM_URL)\n"
        assert "EVERTHREAD_LLM_URL names a model" in model(store, "disconnect").stderr
    monkeypatch.delenv("EVERTHREAD_LLM_URL")
    assert chat(store) == "None"
    assert model(store, "show").stdout.startswith("no model (disconnected)")
    assert KEY not in file.read_text()


def test_a_model_that_the_page_connected_replies_and_its_key_is_used_again(store: Path, server: llm.Server) -> None:
    banks = SQLiteStore(store)
    ConnectionFile.beside(banks).write(StoredModel(server.url, "m", KEY))
    banks.close()
    assert chat(store) == "Hello there."
    assert model(store, "connect", server.url, "large").stdout == f"connected large at {server.url}\n"
    assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_model_that_does_not_reply_is_not_connected(store: Path, server: llm.Server) -> None:
    refusals = [
        (model(store, "connect", server.url), "give the name of a model", "it has m, large"),
        (model(store, "connect", "http://127.0.0.1:1", "m"), "nothing answers", "start the server"),
        (model(store, "connect", server.url, "m", "--key", stdin="é\n"), "invalid", "key"),
        (model(store, "test"), "there is no model to test", "everthread model connect"),
    ]
    server.behaviours[:] = [llm.Status(401, "no")]
    refusals.append((model(store, "connect", server.url, "m"), "requires a key", "create one"))
    for result, what, remedy in refusals:
        assert result.exit_code in (1, 2), result.output
        assert what in result.stderr
        assert remedy in result.stderr
    assert not (store / "model.json").exists()


def test_a_damaged_connection_is_reported_with_a_remedy(store: Path) -> None:
    store.mkdir()
    (store / "model.json").write_text("{")
    failed = run(store, "chat", "--json", stdin="Hi.\n")
    assert failed.exit_code == 2
    assert "connect the model again" in failed.stderr
    assert run(store, "--embedder", "hash", "chat", "--json", "--model", "none", stdin="Hi.\n").exit_code == 0
