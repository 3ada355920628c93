from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everthread import BadInput
from everthread.compat.mem0 import Memory
from everthread.compat.mem0.filters import find_ids
from everthread.testing import HashEmbedder

MEMORIES: dict[str, dict[str, Any]] = {
    "tea": {"place": "Lisbon", "year": 2022, "tags": ["warm", "home"]},
    "chess": {"place": "PORTO", "year": 2024},
    "rain": {"source": {"id": 7, "name": "Diary"}},
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder: Path = tmp_path_factory.mktemp("filters")
    with Memory(store=folder, embedder=HashEmbedder()) as memory:
        for day, (text, metadata) in enumerate(MEMORIES.items(), 1):
            role = "assistant" if text == "rain" else "user"
            message = {"role": role, "content": text}
            memory.add([message], user_id="nora", agent_id="bob", metadata=metadata, timestamp=f"2024-05-0{day}")
        memory.add("snow", user_id="tom")
        yield memory


def test_a_filter_knows_when_a_memory_was_updated(tmp_path: Path) -> None:
    with Memory(store=tmp_path, embedder=HashEmbedder()) as memory:
        ids = [
            memory.add(text, user_id="nora", timestamp="2024-05-01")["results"][0]["id"] for text in ("tea", "chess")
        ]
        memory.update(ids[0], "coffee")
        for operator, expected in (("gte", ["coffee"]), ("lt", ["chess"])):
            found = memory.get_all(filters={"user_id": "nora", "updated_at": {operator: "2025-01-01"}})
            assert [record["memory"] for record in found["results"]] == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "tea chess rain"),
        ({"place": "Lisbon"}, "tea"),
        ({"place": {"eq": "Lisbon"}}, "tea"),
        ({"place": {"ne": "Lisbon"}}, "chess rain"),
        ({"year": {"gt": 2022}}, "chess"),
        ({"year": {"gte": 2022, "lt": 2024}}, "tea"),
        ({"year": {"lte": 2022}}, "tea"),
        ({"place": {"in": ["Lisbon", "PORTO"]}}, "tea chess"),
        ({"place": {"nin": ["Lisbon"]}}, "chess rain"),
        ({"place": ["Lisbon", "PORTO"]}, "tea chess"),
        ({"year": [2024, 7]}, "chess"),
        ({"tags": ["warm", "home"]}, "tea"),
        ({"metadata": {"place": ["Lisbon"]}}, "tea"),
        ({"place": {"contains": "Lis"}}, "tea"),
        ({"place": {"contains": "lis"}}, ""),
        ({"tags": {"contains": "home"}}, "tea"),
        ({"place": {"icontains": "porto"}}, "chess"),
        ({"place": {"icontains": "O"}}, "tea chess"),
        ({"place": "*"}, "tea chess"),
        ({"source.id": 7}, "rain"),
        ({"source.name": {"icontains": "dia"}}, "rain"),
        ({"role": "assistant"}, "rain"),
        ({"role": {"icontains": "USER"}}, "tea chess"),
        ({"created_at": {"gte": "2024-05-02"}}, "chess rain"),
        ({"updated_at": {"gte": "2024-05-02"}}, "chess rain"),
        ({"metadata": {"place": "Lisbon"}}, "tea"),
        ({"metadata": {"place": "*", "year": {"gt": 2022}}}, "chess"),
        ({"metadata": {"contains": {"place": "Lisbon"}}}, "tea"),
        ({"metadata": {"ne": {"place": "Lisbon"}}}, "chess rain"),
        ({"agent_id": "*", "year": 2024}, "chess"),
        ({"AND": [{"place": "*"}, {"year": 2024}]}, "chess"),
        ({"OR": [{"year": 2022}, {"source.id": 7}]}, "tea rain"),
        ({"NOT": [{"year": 2022}, {"year": 2024}]}, "rain"),
        ({"OR": [{"AND": [{"year": 2022}, {"NOT": {"place": "PORTO"}}]}, {"user_id": "tom"}]}, "tea"),
        ({"user_id": {"in": ["nora", "ada"]}}, "tea chess rain"),
        ({"user_id": ["nora", "ada"]}, "tea chess rain"),
        ({"user_id": ["tom", "ada"]}, "snow"),
        ({"role": ["assistant", "tool"]}, "rain"),
        ({"user_id": {"ne": "nora"}}, "snow"),
        ({"user_id": {"icontains": "NOR"}, "year": {"gt": 0}}, "tea chess"),
        ({"user_id": "*", "place": {"ne": "Lisbon"}}, "chess rain snow"),
        ({"agent_id": "bob", "user_id": "tom"}, ""),
        ({"agent_id": "bob", "AND": [{"user_id": " nora "}, {"year": {"gt": 2022}}]}, "chess"),
        ({"agent_id": "bob"}, "tea chess rain"),
    ],
)
def test_filters_allow(memory: Memory, filters: dict[str, Any], expected: str) -> None:
    given = filters if {"user_id", "agent_id"} & filters.keys() else {"user_id": "nora", **filters}
    listed = {record["memory"] for record in memory.get_all(filters=given)["results"]}
    found = {record["memory"] for record in memory.search("tea", filters=given, threshold=0)["results"]}
    assert listed == set(expected.split())
    assert found <= listed


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"year": {"above": 7}}, "invalid operator of filter year: got 'above'"),
        ({"AND": 7}, "invalid filter AND"),
        ({"$or": [{"year": 7}]}, r"got '\$or', expected AND, OR or NOT"),
        ({"OR": []}, "invalid filter OR"),
        ({"NOT": ["x"]}, "invalid filter NOT"),
        ({"year": {"icontains": 7}}, "invalid filter year"),
        ({"created_at": {"gt": "soon"}}, "invalid created_at"),
        ({"year": {"in": 7}}, "tuple or list"),
        ({"tags": {"gt": ["x"]}}, "have an order"),
    ],
)
def test_an_invalid_filter_is_named(memory: Memory, filters: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        memory.get_all(filters={"user_id": "nora", **filters})


def test_filters_nested_too_deep_are_refused(memory: Memory) -> None:
    deep: dict[str, Any] = {"year": 7}
    for number in range(10_000):
        deep = {"NOT" if number % 2 else "AND": deep}
    with pytest.raises(BadInput, match="nested"):
        memory.get_all(filters={"user_id": "nora", **deep})


def test_ids_are_found_in_nested_filters() -> None:
    assert find_ids({"AND": [{"user_id": "nora"}, {"AND": [{"run_id": 7}]}], "year": 2024}) == {
        "user_id": "nora",
        "run_id": "7",
    }
    assert find_ids({"OR": [{"user_id": "nora"}], "agent_id": "*", "run_id": {"in": ["x"]}}) == {}
