from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from everthread import factory
from everthread.embedders.names import open_embedder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.remote import RemoteEmbedder
from everthread.embedders.sentence_transformers import SentenceTransformerEmbedder
from everthread.errors import BadInput, ConfigError
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors


def test_st_is_short_for_sentence_transformers() -> None:
    short = open_embedder("st:sentence-transformers/multi-qa-mpnet-base-cos-v1")
    full = open_embedder("sentence-transformers:sentence-transformers/multi-qa-mpnet-base-cos-v1")
    assert isinstance(short, SentenceTransformerEmbedder)
    assert short.name == full.name


def test_an_openai_model_is_requested_from_openai_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    embedder = open_embedder("openai:text-embedding-ada-002")
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder.name == "remote/text-embedding-ada-002"
    assert vars(embedder)["_url"] == "https://api.openai.com/v1/embeddings"
    assert vars(embedder)["_key"] == "sk-ours"
    assert vars(open_embedder("https://api.openai.com/v1#text-embedding-3-small"))["_key"] == "sk-ours"


def test_the_openai_key_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    assert vars(open_embedder("https://api.openai.com.example.test/v1#ada"))["_key"] is None


def test_an_openai_model_without_a_key_is_an_error_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match="needs a key: set OPENAI_API_KEY or EVERTHREAD_EMBEDDER_KEY"):
        open_embedder("openai:text-embedding-ada-002")


@pytest.mark.parametrize("name", ["st:", "openai:", "sentence-transformers:"])
def test_a_prefix_without_a_model_name_is_rejected(name: str) -> None:
    with pytest.raises(ConfigError, match=f"nothing follows the prefix; expected {name}NAME"):
        open_embedder(name)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("em-MiniLM-p1-01", "st:sentence-transformers/multi-qa-MiniLM-L6-cos-v1"),
        ("em-distilroberta-p3-01", "st:sentence-transformers/all-distilroberta-v1"),
    ],
)
def test_a_goodai_ltm_model_is_rejected_with_the_nearest_alternative(name: str, base: str) -> None:
    with pytest.raises(ConfigError, match=f"one of goodai-ltm's own models.*closest alternatives are minilm.*{base}"):
        open_embedder(name)


def test_the_device_of_a_torch_model_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vars(open_embedder("st:some/model", device="cuda:1"))["_device"] == "cuda:1"
    monkeypatch.setenv("EVERTHREAD_DEVICE", "mps")
    assert vars(open_embedder("st:some/model"))["_device"] == "mps"
    assert vars(open_embedder("st:some/model", device="cpu"))["_device"] == "cpu"
    assert isinstance(open_embedder("minilm"), OnnxEmbedder)  # the setting has no effect on it


@pytest.mark.parametrize("embedder", ["minilm", "hash", HashEmbedder()])
def test_a_device_for_a_model_without_torch_is_rejected(embedder: HashEmbedder | str) -> None:
    with pytest.raises(ConfigError, match=r"invalid device cuda:0: .* doesn't run on torch"):
        open_embedder(embedder, device="cuda:0")


def test_the_library_and_the_command_line_accept_the_same_names() -> None:
    assert factory.open_embedder is open_embedder


class Own:
    """An embedder of the caller's own, with the attributes that it is given."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed(texts)

    def embed_query(self, text: str) -> Vector:
        return HashEmbedder().embed_query(text)


def test_an_embedder_of_the_callers_own_is_used_as_it_is() -> None:
    own: Any = Own(name="own", multilingual=False)
    assert open_embedder(own) is own


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            Own(),
            "invalid embedder Own: it has no name and no multilingual; expected the attributes name and m",
        ),
        (Own(name="own"), "it has no multilingual; expected"),
        (Own, r"got the class Own; expected an object, such as Own\(\)"),
        (7, "invalid embedder int: it has no name and no multilingual and no embed and no embed_query"),
        (Own(name=None, multilingual=True), "invalid name of the embedder Own: None"),
        (Own(name=" ", multilingual=True), "invalid name of the embedder Own: ' '; expected a text"),
    ],
)
def test_an_embedder_without_a_part_is_refused_when_it_is_opened(own: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        open_embedder(own)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_not_the_current_folder(name: str) -> None:
    with pytest.raises(ConfigError, match="the name of the embedder is empty; give one, such as minilm"):
        open_embedder(name)
