"""Names of models with banks."""

from __future__ import annotations

import json

import pytest

from everthread.server.proxy import model_names
from everthread.server.proxy.model_names import add_banks, rename, split_model

LIST = b'{ "object":"list" ,"data":[ {"id":"a","x":1.0} , {"id":"b/c"}, {"id":3}, 4 ], "first" : null}'


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("m@nora", ("m", "nora")),
        ("a/m:7b@nora/captain", ("a/m:7b", "nora/captain")),
        ("@cf/meta/llama@nora", ("@cf/meta/llama", "nora")),
        ("@cf/meta/llama", ("@cf/meta/llama", None)),
        ("workers-ai/@cf/meta/llama", ("workers-ai/@cf/meta/llama", None)),
        ("workers-ai/@cf/meta/llama@nora", ("workers-ai/@cf/meta/llama", "nora")),
        ("openai/gpt-4o@preset/letters", ("openai/gpt-4o@preset/letters", None)),
        ("openai/gpt-4o@preset/letters@nora", ("openai/gpt-4o@preset/letters", "nora")),
        ("claude@20240620", ("claude@20240620", None)),
        ("claude@20240620@nora", ("claude@20240620", "nora")),
        ("m@2024", ("m", "2024")),
        ("claude-sonnet-4@default", ("claude-sonnet-4@default", None)),
        ("claude-sonnet-4@default@nora", ("claude-sonnet-4@default", "nora")),
        ("qwen3-8b@q4_k_m", ("qwen3-8b@q4_k_m", None)),
        ("qwen3-8b@IQ3_XXS", ("qwen3-8b@IQ3_XXS", None)),
        ("qwen3-8b@4bit", ("qwen3-8b@4bit", None)),
        ("qwen3-8b@bf16", ("qwen3-8b@bf16", None)),
        ("m@quentin", ("m", "quentin")),
        ("m@", ("m@", None)),
        ("m", ("m", None)),
        ("", ("", None)),
    ],
)
def test_the_end_of_a_name_is_the_bank(name: str, parts: tuple[str, str | None]) -> None:
    assert split_model(name, {"2024"}.__contains__) == parts


def test_models_with_banks_follow_those_of_the_upstream_which_keep_their_bytes() -> None:
    added = add_banks(LIST, ["nora", "é"])
    assert added.startswith(LIST[: LIST.index(b" ], ")])
    names = [model["id"] for model in json.loads(added)["data"] if isinstance(model, dict)]
    assert names == ["a", "b/c", 3, "a@nora", "b/c@nora", "a@é", "b/c@é"]
    assert json.loads(added)["data"][-2]["x"] == 1.0


def test_a_list_without_models_or_banks_stays_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for body in (b'{"data": []}', b'{"data": {}}', b"{}"):
        assert add_banks(body, ["nora"]) == body
    assert add_banks(LIST, []) == LIST
    for body in (b"[]", b"", b"{", b"\xff"):
        with pytest.raises(ValueError):
            add_banks(body, ["nora"])
    monkeypatch.setattr(model_names, "MAX_ADDED_MODELS", 3)
    assert len(json.loads(add_banks(LIST, ["nora", "emil"]))["data"]) == 7


def test_a_list_of_ollamas_names_a_model_twice() -> None:
    added = add_banks(b'{"models":[{"name":"a","model":"a","size":1}]}', ["nora"], "models", ("name", "model"))
    assert json.loads(added)["models"][1] == {"name": "a@nora", "model": "a@nora", "size": 1}


def test_a_model_is_renamed() -> None:
    assert rename(b'{"x":1e0, "id" : "m"}', "m@nora") == b'{"x":1e0, "id" : "m@nora"}'
    assert rename(b"{}", "m@nora") == b"{}"
