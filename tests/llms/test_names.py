import http.server
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hardship.llm import llm_server

from everthread.common.installation import extra_command
from everthread.errors import ConfigError
from everthread.llms import discovery
from everthread.llms.names import open_llm
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.testing import ScriptedLLM
from everthread.types import Message


def get_address(llm: object) -> tuple[str, str]:
    assert isinstance(llm, OpenAICompatible)
    return llm.url, llm.name


def get_key(llm: object) -> str:
    """Return the key that a language model sends."""
    assert isinstance(llm, OpenAICompatible)
    return llm._key


def test_a_language_model_object_is_returned_unchanged() -> None:
    llm = ScriptedLLM([])
    assert open_llm(llm) is llm


def test_there_is_no_language_model_if_none_is_configured_or_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_llm() is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-unused")
    assert open_llm() is None


def test_the_name_none_disables_the_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["llama3.2:latest"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert open_llm("none") is None
        monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "none")
        assert open_llm() is None
        assert not server.requests


def test_a_url_names_server_and_model() -> None:
    assert get_address(open_llm("http://localhost:8000/v1#qwen/qwen3:8b")) == (
        "http://localhost:8000/v1",
        "qwen/qwen3:8b",
    )


def test_a_configured_model_uses_the_configured_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server("Aye.") as server:
        settings = {"URL": server.url, "MODEL": "m", "KEY": "sk-ours", "CONTEXT": "4096", "PRICES": "1000000/0"}
        for name, value in settings.items():
            monkeypatch.setenv(f"EVERTHREAD_LLM_{name}", value)
        llm = open_llm()
        assert llm is not None
        assert (llm.complete([Message("user", "Hi")]), llm.context, llm.usage.cost) == ("Aye.", 4096, 11)
        assert get_address(open_llm("other")) == (server.url, "other")
    assert server.asked[0].headers["authorization"] == "Bearer sk-ours"


def test_a_server_with_one_model_needs_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["only"]) as server:
        assert get_address(open_llm(server.url)) == (server.url, "only")
        monkeypatch.setenv("EVERTHREAD_LLM_URL", server.url + "/")
        monkeypatch.setenv("EVERTHREAD_LLM_KEY", "sk-ours")
        assert get_address(open_llm()) == (server.url, "only")
        assert server.requests[-1].headers["authorization"] == "Bearer sk-ours"


@pytest.mark.parametrize(("models", "listed"), [(["a", "b"], "it has a, b;"), ([], "it has none;")])
def test_a_server_with_several_or_no_models_needs_a_name(models: Sequence[str], listed: str) -> None:
    with (
        llm_server(models=models) as server,
        pytest.raises(ConfigError, match=f"{listed} set EVERTHREAD_LLM_M"),
    ):
        open_llm(server.url)


def test_a_server_without_a_model_list_needs_a_name() -> None:
    with (
        llm_server() as server,
        pytest.raises(ConfigError, match="its models; check that it runs, and set EVERTHREAD_LLM_M"),
    ):
        open_llm(server.host)


def test_a_running_ollama_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["nomic-embed-text:latest", "llama3.2:latest", "qwen3:8b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host.removeprefix("http://"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
        assert get_address(open_llm()) == (server.url, "llama3.2:latest")
        assert get_address(open_llm("llama3.2")) == (server.url, "llama3.2:latest")
        assert get_address(open_llm("qwen3:8b")) == (server.url, "qwen3:8b")
        assert get_key(open_llm()) == "none"
        with pytest.raises(ConfigError, match="language model 'gemma3' not found"):
            open_llm("gemma3")


def test_openai_is_used_only_for_a_named_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    llm = open_llm("gpt-4o-mini")
    assert get_address(llm) == ("https://api.openai.com/v1", "gpt-4o-mini")
    assert get_key(llm) == "sk-theirs"


@pytest.mark.parametrize("name", ["llama3.2", "gpt-oss:20b"])
def test_a_model_that_openai_lacks_is_not_requested_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    with pytest.raises(
        ConfigError, match=f"language model '{name}' not found: .* run `ollama pull {name}`, or set EVERTHREAD_L"
    ):
        open_llm(name)


def test_the_openai_key_is_never_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert get_key(open_llm("https://openrouter.ai/api/v1#some/model")) == "none"
    assert get_key(open_llm("https://api.openai.com.evil.example/v1#gpt-4o")) == "none"
    assert get_key(open_llm("http://api.openai.com/v1#gpt-4o")) == "none"
    monkeypatch.setenv("EVERTHREAD_LLM_KEY", "sk-ours")
    assert get_key(open_llm("https://api.openai.com/v1#gpt-4o")) == "sk-ours"


def test_an_unknown_model_is_an_error_that_lists_the_search() -> None:
    with pytest.raises(
        ConfigError,
        match=r"no Ollama with this model at http://127\.0\.0\.1:\d+; .*OpenAI model: set OPENAI_API_KEY, or",
    ):
        open_llm("gpt-4o-mini")


@pytest.mark.parametrize("name", ["gpt-4o", "o3-mini", "claude-sonnet-4", "gemini-2.5-flash"])
def test_pulling_a_hosted_model_is_not_suggested(name: str) -> None:
    with pytest.raises(ConfigError, match=r"language model .* not found: .*; it .* set .*EVERTHREAD_LLM_") as raised:
        open_llm(name)
    assert "ollama pull" not in str(raised.value)


def test_a_running_ollama_without_the_extra_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)
    with llm_server(models=["llama3.2"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert open_llm() is None
        with pytest.raises(ConfigError, match=re.escape(extra_command("llm"))):
            open_llm("llama3.2")


@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com.example.test/v1",
        "https://api.openai.com@127.0.0.1:9/v1",
        "http://api.openai.com/v1",
        "https://example.test/https://api.openai.com/v1",
        "https://API.OPENAI.COM:444/v1",
    ],
)
def test_a_lookalike_of_openai_does_not_get_the_key(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    llm = open_llm(f"{address}#m")
    assert isinstance(llm, OpenAICompatible)
    assert "sk-secret" not in str(vars(llm))


def test_openai_gets_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" in str(
        vars(open_llm("https://api.openai.com/v1#gpt-4o-mini"))
    )  # otherwise the test above could not fail


@pytest.mark.parametrize("name", ["http://", "http://:x/v1#m", "https:///v1#m", "http://host:99999/v1#m"])
def test_an_invalid_address_is_rejected(name: str) -> None:
    with pytest.raises(
        ConfigError, match="is not the address of a language model; expected one such as http://localhost"
    ):
        open_llm(name)


def test_an_endless_model_list_is_ignored() -> None:
    class Endless(http.server.BaseHTTPRequestHandler):
        sent = 0

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while type(self).sent < 40 * discovery.MAX_LIST_BYTES:
                    self.wfile.write(b" " * 1_000_000)
                    type(self).sent += 1_000_000

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Endless) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ConfigError, match=r"no model name given for .*, and it doesn't list its models"):
            open_llm(f"http://127.0.0.1:{server.server_port}/v1")
        thread.join()
    assert Endless.sent < 10 * discovery.MAX_LIST_BYTES
