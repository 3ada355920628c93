import json
from pathlib import Path

import pytest

from everthread import Memory
from everthread import open as opening
from everthread.errors import ConfigError, NotFound
from everthread.models.embed import OnnxEmbedder, RemoteEmbedder, SentenceTransformerEmbedder
from everthread.models.fakes import HashEmbedder
from everthread.recipes.default import DEFAULT
from everthread.stores.sqlite import SQLiteStore


def test_objects_are_taken_as_they_are(tmp_path: Path) -> None:
    store, embedder = SQLiteStore(tmp_path), HashEmbedder()
    assert opening.store(store) is store
    assert opening.embedder(embedder) is embedder
    assert opening.recipe(DEFAULT) is DEFAULT


def test_a_path_is_the_folder_of_a_store(tmp_path: Path) -> None:
    made = opening.store(str(tmp_path / "deep" / "down"))
    assert isinstance(made, SQLiteStore)
    assert (tmp_path / "deep" / "down").is_dir()


def test_a_folder_is_made_unless_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there are no banks yet: there is no folder .*typo"):
        opening.store(tmp_path / "typo", make=False)
    assert not (tmp_path / "typo").exists()
    assert isinstance(opening.store(tmp_path, make=False), SQLiteStore)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    opening.store("~/banks")
    assert (tmp_path / "banks").is_dir()


def test_without_a_store_the_configured_one_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(tmp_path / "set"))
    monkeypatch.setenv("EVERTHREAD_EMBEDDER", "hash")
    with Memory.open("alice") as memory:
        memory.observe("Kept where the environment says.")
    assert (tmp_path / "set" / "alice.bank").exists()


def test_a_url_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mongodb://host/db' is a URL of an unknown kind; give the path of a folder"):
        opening.store("mongodb://host/db")


def test_embedders_have_names() -> None:
    assert isinstance(opening.embedder("hash"), HashEmbedder)
    assert isinstance(opening.embedder("minilm"), OnnxEmbedder)
    assert isinstance(opening.embedder("sentence-transformers:some/model"), SentenceTransformerEmbedder)
    assert isinstance(opening.embedder("http://localhost:11434/v1#nomic-embed-text"), RemoteEmbedder)


def test_an_unknown_embedder_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="embedder 'minlm' is unknown; use minilm, hash"):
        opening.embedder("minlm")


def test_a_remote_embedder_must_name_its_model() -> None:
    with pytest.raises(ConfigError, match="names no model; write it behind a #: http://localhost/v1#"):
        opening.embedder("http://localhost/v1")


def test_an_unknown_recipe_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="recipe 'soup' is unknown; known are default"):
        opening.recipe("soup")


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
    told = [line.text for line in opening.reader(path)()]
    assert told == [line.text for line in opening.reader(path, form)()] == ["One line."]


def test_a_reader_can_be_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text('{"text": "One line."}\n', encoding="utf-8")
    read = opening.reader(path)
    assert list(read()) == list(read())


def test_json_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "what.json"
    path.write_text(json.dumps({"recipes": []}), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"what\.json is JSON of an unknown kind; name it with --format jsonl"):
        opening.reader(path)


@pytest.mark.parametrize("text", ['{"text": "One."}\n', '\n [{"role": "user"}]', "[\n  {}\n]"])
def test_json_without_the_name_of_json_asks_for_its_format(tmp_path: Path, text: str) -> None:
    path = tmp_path / "what.txt"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"what\.txt looks like JSON; name its format with --format jsonl or mess"):
        opening.reader(path)


def test_an_option_that_means_nothing_to_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"read as jsonl, for which --only means nothing .it is for locomo, realtalk.;"
    ):
        opening.reader(tmp_path / "x.jsonl", only=["conv-1"])


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format 'yaml' is unknown; known are jsonl, messages, transcript, whatsapp"):
        opening.reader(tmp_path / "x.yaml", "yaml")
