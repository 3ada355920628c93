import http.server
import json
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hardship.llm import llm_server

from everthread import Memory, factory
from everthread.chat import card, character_library
from everthread.chat.character import DEFAULT_CHARACTER as OURS
from everthread.chat.character import Character
from everthread.common.installation import install_extra
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.remote import RemoteEmbedder
from everthread.embedders.sentence_transformers import SentenceTransformerEmbedder
from everthread.errors import BadFile, ConfigError, ModelError, NotFound
from everthread.llms import discovery
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Line, Message


def test_objects_are_taken_as_they_are(tmp_path: Path) -> None:
    store, embedder = SQLiteStore(tmp_path), HashEmbedder()
    assert factory.store(store) is store
    assert factory.embedder(embedder) is embedder
    ours = Default()
    assert factory.recipe(ours) is ours
    for wrong in (3, Default):  # a class in place of a recipe is an easy slip
        with pytest.raises(ConfigError, match="is unknown; known are default"):
            factory.recipe(wrong)  # type: ignore[arg-type]


def test_a_path_is_the_folder_of_a_store(tmp_path: Path) -> None:
    made = factory.store(str(tmp_path / "deep" / "down"))
    assert isinstance(made, SQLiteStore)
    assert (tmp_path / "deep" / "down").is_dir()


def test_a_folder_is_made_unless_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there are no banks yet: there is no folder .*typo"):
        factory.store(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()
    assert isinstance(factory.store(tmp_path, create=False), SQLiteStore)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    factory.store("~/banks")
    assert (tmp_path / "banks").is_dir()


def test_without_a_store_the_configured_one_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(tmp_path / "set"))
    monkeypatch.setenv("EVERTHREAD_EMBEDDER", "hash")
    with Memory.open("alice") as memory:
        memory.observe("Kept where the environment says.")
    assert (tmp_path / "set" / "alice.bank").exists()


def test_a_url_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mongodb://host/db' is a URL of an unknown kind; give the path of a folder"):
        factory.store("mongodb://host/db")


def test_embedders_have_names() -> None:
    assert isinstance(factory.embedder("hash"), HashEmbedder)
    assert isinstance(factory.embedder("minilm"), OnnxEmbedder)
    assert isinstance(factory.embedder("sentence-transformers:some/model"), SentenceTransformerEmbedder)
    assert isinstance(factory.embedder("http://localhost:11434/v1#nomic-embed-text"), RemoteEmbedder)


def test_an_unknown_embedder_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="embedder 'minlm' is unknown; use minilm, hash"):
        factory.embedder("minlm")


def test_a_remote_embedder_must_name_its_model() -> None:
    with pytest.raises(ConfigError, match="names no model; write it after a #: http://localhost/v1#"):
        factory.embedder("http://localhost/v1")


def test_an_unknown_recipe_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="recipe 'soup' is unknown; known are default"):
        factory.recipe("soup")


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("bank.jsonl", '{"text": "One line.", "said_at": "2024-01-01T00:00:00Z"}\n', "jsonl"),
        ("chat.txt", "[2024-01-01 10:00] Ann: One line.\n", "transcript"),
        ("chat.txt", "01/01/2024, 10:00 - Ann: One line.\n", "whatsapp"),
        ("chat.json", '[{"role": "user", "content": "One line."}]', "messages"),
    ],
)
def test_the_name_of_a_file_tells_its_format(tmp_path: Path, name: str, text: str, form: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    told = [line.text for line in factory.reader(path)()]
    assert told == [line.text for line in factory.reader(path, form)()] == ["One line."]


def test_a_reader_can_be_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text('{"text": "One line."}\n', encoding="utf-8")
    read = factory.reader(path)
    assert list(read()) == list(read())


def test_json_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "what.json"
    for value, found in (
        ({"recipes": []}, "an object with 'recipes'"),
        ({f"field {n}": n for n in range(1005)}, "'field 3', 'field 4' and 1,000 more"),
        ([{"a": 1}], "a list that begins with an object with 'a'"),
        ([[]], "a list that begins with an empty list"),
        ({}, "an empty object"),
        ("x" * 1000, "'xxx"),
        (None, "None"),
    ):
        path.write_text(json.dumps(value), encoding="utf-8")
        with pytest.raises(ConfigError) as told:
            factory.reader(path)
        assert f"{path} is JSON of an unknown kind: " in str(told.value)
        assert found in str(told.value)
        assert "name it with --format jsonl" in str(told.value)
        assert len(str(told.value)) - len(str(path)) < 500


@pytest.mark.parametrize("text", ['{"text": "One."}\n', '\n [{"role": "user"}]', "[\n  {}\n]"])
def test_json_without_the_name_of_json_asks_for_its_format(tmp_path: Path, text: str) -> None:
    path = tmp_path / "what.txt"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"what\.txt looks like JSON; name its format with --format jsonl or mess"):
        factory.reader(path)


def test_an_option_that_means_nothing_to_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"read as jsonl, for which --only means nothing .it is for locomo, realtalk.;"
    ):
        factory.reader(tmp_path / "x.jsonl", only=["conv-1"])


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format 'yaml' is unknown; known are jsonl, messages, transcript, whatsapp"):
        factory.reader(tmp_path / "x.yaml", "yaml")


# ---------------------------------------------------------------------------------------------- language models


def address(llm: object) -> tuple[str, str]:
    assert isinstance(llm, OpenAICompatible)
    return llm.url, llm.name


def key_sent(llm: object) -> str:
    """The key that a language model sends."""
    assert isinstance(llm, OpenAICompatible)
    return llm._key


def test_a_language_model_is_taken_as_it_is() -> None:
    given = ScriptedLLM([])
    assert factory.llm(given) is given


def test_with_nothing_said_and_nothing_found_there_is_no_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert factory.llm() is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-lies-about")
    assert factory.llm() is None


def test_none_is_none_whatever_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["llama3.2:latest"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert factory.llm("none") is None
        monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "none")
        assert factory.llm() is None
        assert not server.requests


def test_a_url_names_server_and_model() -> None:
    assert address(factory.llm("http://localhost:8000/v1#qwen/qwen3:8b")) == (
        "http://localhost:8000/v1",
        "qwen/qwen3:8b",
    )


def test_a_configured_model_speaks_with_what_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server("Aye.") as server:
        settings = {"URL": server.url, "MODEL": "m", "KEY": "sk-ours", "CONTEXT": "4096", "PRICES": "1000000/0"}
        for name, value in settings.items():
            monkeypatch.setenv(f"EVERTHREAD_LLM_{name}", value)
        llm = factory.llm()
        assert llm is not None
        assert (llm.complete([Message("user", "Hi")]), llm.context, llm.usage.cost) == ("Aye.", 4096, 11)
        assert address(factory.llm("other")) == (server.url, "other")
    assert server.asked[0].headers["authorization"] == "Bearer sk-ours"


def test_a_server_with_one_model_needs_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["only"]) as server:
        assert address(factory.llm(server.url)) == (server.url, "only")
        monkeypatch.setenv("EVERTHREAD_LLM_URL", server.url + "/")
        monkeypatch.setenv("EVERTHREAD_LLM_KEY", "sk-ours")
        assert address(factory.llm()) == (server.url, "only")
        assert server.requests[-1].headers["authorization"] == "Bearer sk-ours"


@pytest.mark.parametrize(("models", "some"), [(["a", "b"], "it has a, b;"), ([], "it has none;")])
def test_a_server_with_more_or_fewer_lists_them(models: Sequence[str], some: str) -> None:
    with (
        llm_server(models=models) as server,
        pytest.raises(ConfigError, match=f"{some} name one with EVERTHREAD_LLM_M"),
    ):
        factory.llm(server.url)


def test_a_server_that_lists_nothing_needs_a_name() -> None:
    with llm_server() as server, pytest.raises(ConfigError, match="doesn't tell which it has; name one"):
        factory.llm(server.host)


def test_an_ollama_that_runs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=["nomic-embed-text:latest", "llama3.2:latest", "qwen3:8b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host.removeprefix("http://"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
        assert address(factory.llm()) == (server.url, "llama3.2:latest")
        assert address(factory.llm("llama3.2")) == (server.url, "llama3.2:latest")
        assert address(factory.llm("qwen3:8b")) == (server.url, "qwen3:8b")
        assert key_sent(factory.llm()) == "none"
        with pytest.raises(ConfigError, match="no language model 'gemma3'"):
            factory.llm("gemma3")


def test_a_model_of_openai_is_asked_there_only_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    llm = factory.llm("gpt-4o-mini")
    assert address(llm) == ("https://api.openai.com/v1", "gpt-4o-mini")
    assert key_sent(llm) == "sk-theirs"


@pytest.mark.parametrize("name", ["llama3.2", "gpt-oss:20b"])
def test_a_model_that_openai_does_not_have_is_not_asked_for_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    with pytest.raises(
        ConfigError, match=f"no language model '{name}': .* run `ollama pull {name}`, or set EVERTHREAD_L"
    ):
        factory.llm(name)


def test_the_key_of_openai_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert key_sent(factory.llm("https://openrouter.ai/api/v1#some/model")) == "none"
    assert key_sent(factory.llm("https://api.openai.com.evil.example/v1#gpt-4o")) == "none"
    assert key_sent(factory.llm("http://api.openai.com/v1#gpt-4o")) == "none"
    monkeypatch.setenv("EVERTHREAD_LLM_KEY", "sk-ours")
    assert key_sent(factory.llm("https://api.openai.com/v1#gpt-4o")) == "sk-ours"


def test_a_model_without_anyone_to_ask_is_told_with_what_was_looked_for() -> None:
    with pytest.raises(
        ConfigError, match=r"no Ollama with it answers at http://127\.0\.0\.1:\d+; .*OpenAI: set OPENAI_API_KEY, or"
    ):
        factory.llm("gpt-4o-mini")


@pytest.mark.parametrize("name", ["gpt-4o", "o3-mini", "claude-sonnet-4", "gemini-2.5-flash"])
def test_pulling_a_model_that_its_maker_keeps_is_not_suggested(name: str) -> None:
    with pytest.raises(ConfigError, match=r"no language model .*; it .* set .*EVERTHREAD_LLM_") as raised:
        factory.llm(name)
    assert "ollama pull" not in str(raised.value)


def test_without_the_sdk_an_ollama_that_happens_to_run_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with llm_server(models=["llama3.2"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert factory.llm() is None
        with pytest.raises(ConfigError, match=re.escape(install_extra("llm"))):
            factory.llm("llama3.2")


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
def test_what_only_looks_like_openai_gets_no_key_of_theirs(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    llm = factory.llm(f"{address}#m")
    assert isinstance(llm, OpenAICompatible)
    assert "sk-secret" not in str(vars(llm))


def test_openai_itself_gets_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" in str(vars(factory.llm("https://api.openai.com/v1#gpt-4o-mini")))  # so the test above can fail


@pytest.mark.parametrize("name", ["http://", "http://:x/v1#m", "https:///v1#m", "http://host:99999/v1#m"])
def test_what_is_no_address_is_refused_as_such(name: str) -> None:
    with pytest.raises(ConfigError, match="is no address of a language model; it looks like http://localhost"):
        factory.llm(name)


def test_a_server_whose_list_of_models_never_ends_tells_none() -> None:
    class Endless(http.server.BaseHTTPRequestHandler):
        sent = 0

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while type(self).sent < 40 * discovery.LARGEST:
                    self.wfile.write(b" " * 1_000_000)
                    type(self).sent += 1_000_000

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Endless) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ConfigError, match="is named, and it doesn't tell which it has"):
            factory.llm(f"http://127.0.0.1:{server.server_port}/v1")
        thread.join()
    assert Endless.sent < 10 * discovery.LARGEST


# ---------------------------------------------------------------------- characters


def test_a_character_is_the_banks_own_one_of_the_folder_a_cards_file_or_ours(tmp_path: Path) -> None:
    card.write(Character("Nora", "of the file"), tmp_path / "nora.json")
    own = {"character": Character("Nora", "of the bank").to_json()}
    assert factory.character(None, {}) == factory.character("Ever", {}) == OURS
    assert factory.character(None, own).description == factory.character("nora", own).description == "of the bank"
    assert factory.character(str(tmp_path / "nora.json"), own).description == "of the file"
    assert factory.character(OURS, own) is OURS
    assert factory.character("Ever", own) == OURS


@pytest.mark.parametrize("name", ["Nora", "ever", "", "../nora", "nora.json"])
def test_a_character_that_is_nowhere_is_not_found(name: str) -> None:
    with pytest.raises((NotFound, BadFile), match=r"nora|Nora|ever|''"):
        factory.character(name, {})


def test_a_character_of_ones_own_stands_before_ours_of_the_same_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    character_library.save(Character("Ever", "of the folder"))
    assert factory.character("Ever", {}).description == "of the folder"


# --------------------------------------------------------------------- the scribe


def test_without_a_model_of_its_own_the_scribe_writes_with_the_one_that_replies() -> None:
    model = ScriptedLLM([])
    assert factory.scribe(model).name == LLMScribe(model).name
    assert isinstance(factory.scribe(None), ExtractiveScribe)
    own = ExtractiveScribe()
    assert factory.scribe(model, own) is own


def test_another_model_writes_where_it_is_configured_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=("large", "small")) as server:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", server.url)
        monkeypatch.setenv("EVERTHREAD_SCRIBE_MODEL", "small")
        assert "small" in factory.scribe(factory.llm("large")).name
        assert "large" in factory.scribe(None, "large").name
        assert isinstance(factory.scribe(factory.llm("large"), "none"), ExtractiveScribe)
    monkeypatch.setenv("EVERTHREAD_SCRIBE_MODEL", "none")
    assert isinstance(factory.scribe(ScriptedLLM([])), ExtractiveScribe)


def test_no_key_goes_to_another_server_than_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(models=("large",)) as ours, llm_server(models=("small",)) as theirs:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", ours.url)
        monkeypatch.setenv("EVERTHREAD_LLM_KEY", "ours")
        factory.scribe(None, theirs.url)
        assert [each.headers.get("authorization") for each in theirs.requests] == [None]
        monkeypatch.setenv("EVERTHREAD_SCRIBE_KEY", "theirs")
        factory.scribe(None, theirs.url)
        assert theirs.requests[-1].headers["authorization"] == "Bearer theirs"
        with suppress(ModelError):  # its answer is no summary
            factory.scribe(None, "large").summarize([Line(1, "s", "user", "Ann", "I sail.", datetime.now(UTC))], "Ann")
        assert ours.requests[-1].headers["authorization"] == "Bearer ours"
