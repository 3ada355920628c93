"""Haystack's filters, evaluated by each store. `test_suites` runs Haystack's own tests of them."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.errors import FilterError

from everthread import Memory
from everthread.compat.haystack import EverthreadDocumentStore
from everthread.compat.haystack.filters import build_condition
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder

DOCUMENTS = [
    Document("a", content="Red.", meta={"n": 1, "on": "2024-05-01", "book": {"year": 2024}, "tags": ["x"], "e.g": 1}),
    Document("b", content="Green.", meta={"n": 2.5, "on": "2024-05-01T18:30:00", "sure": True}),
    Document("c", meta={"n": None}),
]


def where(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


FILTERS = [
    (where("meta.n", "==", 1), "a"),
    (where("n", "==", 1), "a"),
    (where("meta.n", "in", [2.5, None]), "bc"),
    (where("meta.n", "not in", [2.5, None]), "a"),
    (where("meta.n", "!=", float("nan")), "abc"),
    (where("meta.n", "<", 10**400), "ab"),
    (where("meta.book.year", ">=", 2024), "a"),
    (where("meta.tags", "==", ["x"]), "a"),
    (where("meta.sure", "==", True), "b"),
    (where("meta.on", ">", datetime(2024, 5, 1, 18)), "b"),
    (where("meta.on", "in", [datetime(2024, 5, 1, 18, 30)]), "b"),
    (where("content", "==", None), "c"),
    (where("content", "==", "Red."), "a"),
    (where("id", "not in", ["a", "b"]), "c"),
    ({"operator": "NOT", "conditions": [where("n", "==", 1), where("id", "==", "a")]}, "bc"),
    ({"operator": "OR", "conditions": []}, ""),
    ({"operator": "AND", "conditions": []}, "abc"),
]


def test_every_store_compares_the_fields_of_documents(any_store: Store) -> None:
    store = EverthreadDocumentStore(Memory("documents", any_store, HashEmbedder(64), Default()))
    store.write_documents(DOCUMENTS)
    for filters, ids in FILTERS:
        assert "".join(document.id for document in store.filter_documents(filters)) == ids, filters


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (["x"], r"got \['x'\], expected a dict with an operator"),
        ({"field": "n", "value": 1}, "has no 'operator'; give a field, an operator and a value"),
        (where("n", "like", 1), "got 'like', expected one of ==, !=, <, <=, >, >=, in, not in"),
        (where("", "==", 1), "got '', expected a name such as meta.year"),
        (where("book.year", "==", 1), r"got 'book\.year'; write meta\.book\.year"),
        (where("meta..year", "==", 1), r"got 'metadata\.document\.meta\.\.year'"),
        (where("n", ">", "soon"), "'>' must be a number or a date such as 2024-05-01, got 'soon'"),
        (where("n", ">", [1]), r"must be a number or a str, which have an order, got \[1\]"),
        (where("n", "in", (1, 2)), r"'in' must be a list, got \(1, 2\)"),
        ({"operator": "XOR", "conditions": []}, "expected the operator AND, OR, NOT with a list of conditions"),
        ({"operator": "AND", "conditions": [where("n", "==", 1)] * 100}, "more than 100 comparisons"),
    ],
)
def test_an_invalid_filter_is_named(filters: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        build_condition(filters, "document")


def test_deep_filters_are_refused() -> None:
    deep: dict[str, Any] = functools.reduce(
        lambda inner, _: {"operator": "NOT", "conditions": [inner]}, range(30), where("n", "==", 1)
    )
    with pytest.raises(FilterError, match="nested more than 20 deep"):
        build_condition(deep, "document")
