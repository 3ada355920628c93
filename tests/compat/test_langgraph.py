"""LangGraph's store on a bank. `make dropins` runs LangGraph's own tests of a store as well."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from everthread import Memory
from everthread.compat.langgraph import EverthreadStore
from everthread.errors import BadInput

HOME = {"text": "Alice lives in Lisbon.", "sure": True}


@pytest.fixture
def store(memory: Memory) -> EverthreadStore:
    return EverthreadStore(memory)


def test_an_item_is_a_line_with_its_text_and_its_whole_value(store: EverthreadStore, memory: Memory) -> None:
    store.put(("memories", "alice"), "home", HOME)
    (line,) = memory.lines()
    assert (line.text, line.metadata["value"]) == ("Alice lives in Lisbon.", HOME)
    item = store.get(("memories", "alice"), "home")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("memories", "alice"), "home", HOME)
    assert item.created_at <= item.updated_at == line.said_at


def test_a_search_ranks_items_by_relevance_and_appends_those_that_are_not_indexed(store: EverthreadStore) -> None:
    store.put(("a",), "hidden", {"text": "Where does Alice live? In Lisbon."}, index=False)
    store.put(("a",), "tea", {"text": "Green tea is best in the morning."})
    store.put(("a",), "home", HOME)
    store.put(("b",), "elsewhere", HOME)
    found = store.search(("a",), query="Where does Alice live?")
    assert [item.key for item in found] == ["home", "tea", "hidden"]
    first, second, last = (item.score for item in found)
    assert first is not None
    assert second is not None
    assert 1 >= first > second
    assert last is None
    assert [item.key for item in store.search(("a",), query="Where does Alice live?", limit=1, offset=1)] == ["tea"]
    assert [item.key for item in store.search((), query=" ", limit=3)] == ["hidden", "tea", "home"]


def test_a_new_value_replaces_the_old_one_and_its_text(store: EverthreadStore, memory: Memory) -> None:
    store.put(("a",), "home", HOME)
    before = store.get(("a",), "home")
    store.put(("a",), "home", {"text": "Alice lives in Porto."})
    after = store.get(("a",), "home")
    assert before is not None
    assert after is not None
    assert after.value == {"text": "Alice lives in Porto."}
    assert after.created_at == before.created_at < before.updated_at < after.updated_at
    assert [line.text for line in memory.lines()] == ["Alice lives in Porto."]
    assert len(store.search(("a",))) == 1


def test_a_deleted_item_leaves_no_byte_of_any_value(store: EverthreadStore, tmp_path: Path) -> None:
    store.put(("a",), "home", {"text": "Alice lives in Zebulon."})
    store.put(("a",), "home", {"text": "Alice lives in Okapi.", "note": "Quagga"}, index=False)
    store.delete(("a",), "home")
    assert store.get(("a",), "home") is None
    assert store.list_namespaces() == []
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(word in file for word in (b"Zebulon", b"Okapi", b"Quagga") for file in files)
    store.delete(("a",), "home")
    store.put(("a",), "home", HOME)
    assert store.get(("a",), "home") is not None


def test_the_items_that_a_batch_deletes_are_forgotten_at_once(store: EverthreadStore, memory: Memory) -> None:
    store.batch([PutOp(("a",), str(number), HOME) for number in range(5)])
    store.batch([PutOp(("a",), str(number), None) for number in range(1, 7)])
    assert [item.key for item in store.search(("a",))] == ["0"]
    assert [receipt.lines for receipt in memory.store.receipts(memory.bank)] == [4]


def test_what_an_item_says_is_its_text_its_named_fields_or_all_its_texts(memory: Memory) -> None:
    def said(value: dict[str, Any], index: list[str] | None = None, fields: tuple[str, ...] = ()) -> str:
        EverthreadStore(memory, fields).put(("a",), "key", value, index)
        return next(memory.lines(include_wordless=True, after=memory.store.corpus_stats(memory.bank).last_seq - 1)).text

    assert said({"title": "T", "memory": "M", "content": "C"}) == "C"
    assert said({"kind": "Memory", "content": {"content": "Likes tea.", "n": 1}}) == "Likes tea."
    assert said({"name": "Alice", "likes": ["tea", {"also": "rain"}], "age": 40}) == "Alice\ntea\nrain"
    assert said({"title": "T", "text": "X"}, fields=("title", "missing")) == "T"
    assert said({"title": "T", "parts": [{"text": "one"}, {"text": "two"}]}, index=["parts[*].text"]) == "one\ntwo"
    assert said({"text": "  ", "age": 40}) == said({}) == ""


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "a"}, "1"),
    ({"kind": {"$ne": "a"}}, "23"),
    ({"n": {"$gte": 2, "$lt": 3}}, "2"),
    ({"n": {"$eq": 2.5}, "kind": "b"}, "2"),
    ({"n": {"$lt": float("inf")}}, "12"),
    ({"n": {"$gt": -(10**400)}}, "12"),
    ({"n": float("nan")}, ""),
    ({"n": {"$ne": float("nan")}}, "123"),
    ({"n": None}, "3"),
    ({"n": {"$ne": None}}, "12"),
    ({"user.first-name": "Ann"}, "1"),
    ({"user": {"first-name": "Ann"}}, "1"),
    ({"user": {"first-name": {"$gt": "Ann"}}}, "2"),
    ({"tags": ["x", "y"]}, "1"),
    ({"n": {"$in": [1, None]}}, "13"),
    ({"n": {"$nin": [1, float("nan")]}}, "23"),
    ({"$or": [{"kind": "b"}, {"$and": [{"user.first-name": "Ann"}, {"n": {"$lt": 2}}]}]}, "12"),
    ({"text": "nul \0"}, "3"),
    ({}, "123"),
]


def test_filters_compare_values_as_langgraph_documents(store: EverthreadStore) -> None:
    store.put(("a",), "1", {"kind": "a", "n": 1, "user": {"first-name": "Ann"}, "tags": ["x", "y"]})
    store.put(("a",), "2", {"kind": "b", "n": 2.5, "user": {"first-name": "Bob"}, "tags": ["x"]})
    store.put(("a",), "3", {"kind": "c", "n": None, "text": "nul \0"})
    for fields, keys in FILTERS:
        assert "".join(item.key for item in store.search(("a",), filter=fields)) == keys, fields


def test_an_invalid_filter_names_what_is_allowed(store: EverthreadStore) -> None:
    with pytest.raises(BadInput, match=r"Invalid filter key: got 'a b', expected letters"):
        store.search((), filter={"a b": 1})
    with pytest.raises(BadInput, match=r"got '\$like', expected one of \$eq, \$ne"):
        store.search((), filter={"a": {"$like": "x"}})
    with pytest.raises(BadInput, match=r"invalid filter \$or: got 1, expected a list of filters"):
        store.search((), filter={"$or": 1})
    with pytest.raises(BadInput, match=r"invalid filter: got 'x', expected a dict"):
        store.search((), filter={"$or": ["x"]})
    nested: dict[str, Any] = functools.reduce(lambda inner, _: {"a": inner}, range(30), {})
    with pytest.raises(BadInput, match="nested more than 20 deep"):
        store.search((), filter=nested)
    with pytest.raises(BadInput, match=r"of metadata\.value\.a in must be a tuple or list of values, got 1"):
        store.search((), filter={"a": {"$in": 1}})
    with pytest.raises(BadInput, match="which have an order"):
        store.search((), filter={"a": {"$gt": [1]}})


def test_namespaces_are_listed_by_both_ends_and_cut_to_a_depth(store: EverthreadStore, memory: Memory) -> None:
    memory.observe("This is no item.", session="a.b", key="a.b..c")
    for namespace in (("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("ab",)):
        store.put(namespace, "key", {})
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(suffix=("*", "c"), offset=1) == [("a", "x", "c")]
    both = (MatchCondition("prefix", ("a", "b")), MatchCondition("suffix", ()))
    assert store.batch([ListNamespacesOp(both, limit=1)]) == [[("a", "b", "c")]]
    assert len(store.list_namespaces()) == len(store.search(())) == 4


def test_keys_may_have_any_character(store: EverthreadStore) -> None:
    places = [(("a",), "b..c"), (("a", "b"), "c"), (("a",), ".b"), (("a",), ""), (("a/b",), "c"), (("a",), "\0é\n")]
    for index, (namespace, key) in enumerate(places):
        store.put(namespace, key, {"index": index})
    for index, (namespace, key) in enumerate(places):
        item = store.get(namespace, key)
        assert item is not None
        assert item.value == {"index": index}


def test_a_batch_reads_before_it_writes_and_the_last_write_of_an_item_counts(store: EverthreadStore) -> None:
    first, last = {"text": "first"}, {"text": "last"}
    writes = [PutOp(("a",), "key", first), PutOp(("a",), "key", last), PutOp(("b",), "gone", first)]
    assert store.batch([*writes, GetOp(("a",), "key"), PutOp(("b",), "gone", None)]) == [None] * 5
    assert [(item.key, item.value) for item in store.search(())] == [("key", last)]


@pytest.mark.parametrize(
    ("op", "error", "message"),
    [
        (PutOp(("a",), "key", {}, ttl=5), NotImplementedError, "got ttl=5"),
        (PutOp(("a",), "key", {"n": float("nan")}), BadInput, "JSON-serialisable"),
        (PutOp(("a",), "key", ["x"]), BadInput, r"must be a mapping, got \['x'\]"),  # type: ignore[arg-type]
        (PutOp(("a",), "k" * 300, {}), BadInput, "at most 200"),
        (PutOp((), "key", {}), InvalidNamespaceError, "at least one label"),
        (PutOp(("a.b",), "key", {}), InvalidNamespaceError, "periods"),
        (SearchOp((), {"a": {"$like": "x"}}), BadInput, "invalid operator"),
        (SearchOp((), {"$not": {"a": 1}}), BadInput, r"got '\$not', expected \$and or \$or, or a field"),
    ],
)
def test_an_invalid_operation_stops_the_whole_batch(
    store: EverthreadStore, op: PutOp | SearchOp, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        store.batch([PutOp(("a",), "valid", HOME), op])
    assert store.search(()) == []


def test_an_expiring_item_is_refused_rather_than_kept_for_ever(store: EverthreadStore) -> None:
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(("a",), "key", {}, ttl=5)


def test_the_asynchronous_methods_do_the_same(store: EverthreadStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("a", str(n)), "key", {"text": f"fact {n}"}) for n in range(5)))
        assert await store.alist_namespaces(prefix=("a",), limit=2) == [("a", "0"), ("a", "1")]
        found = await store.asearch(("a",), query="fact 3", limit=1)
        assert [item.value for item in found] == [{"text": "fact 3"}]
        await store.adelete(("a", "3"), "key")
        assert await store.aget(("a", "3"), "key") is None

    asyncio.run(use())
