from pathlib import Path

import pytest

from everthread import Memory, factory
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.remote import RemoteEmbedder
from everthread.embedders.sentence_transformers import SentenceTransformerEmbedder
from everthread.errors import ConfigError, NotFound
from everthread.recipes.default import Default
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder


def test_objects_are_returned_unchanged(tmp_path: Path) -> None:
    store, embedder = SQLiteStore(tmp_path), HashEmbedder()
    assert factory.open_store(store) is store
    assert factory.open_embedder(embedder) is embedder
    recipe = Default()
    assert factory.open_recipe(recipe) is recipe
    for wrong in (3, Default):  # a class in place of a recipe is an easy slip
        with pytest.raises(ConfigError, match=r"unknown recipe .*; expected one of default"):
            factory.open_recipe(wrong)  # type: ignore[arg-type]


def test_a_path_opens_a_store_in_that_folder(tmp_path: Path) -> None:
    store = factory.open_store(str(tmp_path / "deep" / "down"))
    assert isinstance(store, SQLiteStore)
    assert (tmp_path / "deep" / "down").is_dir()


def test_a_missing_folder_is_created_unless_create_is_false(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no banks yet: the folder .*typo does not exist"):
        factory.open_store(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()
    assert isinstance(factory.open_store(tmp_path, create=False), SQLiteStore)


def test_a_tilde_in_a_path_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    factory.open_store("~/banks")
    assert (tmp_path / "banks").is_dir()


def test_without_a_store_the_configured_one_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(tmp_path / "set"))
    monkeypatch.setenv("EVERTHREAD_EMBEDDER", "hash")
    with Memory.open("alice") as memory:
        memory.observe("Kept where the environment says.")
    assert (tmp_path / "set" / "alice.bank").exists()


def test_a_url_of_an_unknown_kind_is_rejected() -> None:
    with pytest.raises(ConfigError, match="'mongodb://host/db' is a URL of an unknown kind; give the path of a folder"):
        factory.open_store("mongodb://host/db")


def test_an_empty_place_is_rejected() -> None:
    with pytest.raises(ConfigError, match="the place of the store is empty; give the path of a folder"):
        factory.open_store("")


def test_embedders_can_be_opened_by_name() -> None:
    assert isinstance(factory.open_embedder("hash"), HashEmbedder)
    assert isinstance(factory.open_embedder("minilm"), OnnxEmbedder)
    assert isinstance(factory.open_embedder("sentence-transformers:some/model"), SentenceTransformerEmbedder)
    assert isinstance(factory.open_embedder("http://localhost:11434/v1#nomic-embed-text"), RemoteEmbedder)


def test_an_unknown_embedder_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown embedder 'minlm'; expected minilm, hash"):
        factory.open_embedder("minlm")


def test_a_remote_embedder_must_name_its_model() -> None:
    with pytest.raises(ConfigError, match="has no model name; append it after a #: http://localhost/v1#"):
        factory.open_embedder("http://localhost/v1")


def test_an_unknown_recipe_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown recipe 'soup'; expected one of default"):
        factory.open_recipe("soup")
