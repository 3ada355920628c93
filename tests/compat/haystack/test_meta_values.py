"""Summaries of fields in the meta of documents. `test_suites` runs Haystack's own tests of them."""

from __future__ import annotations

from typing import Any

from everthread.compat.haystack.meta_values import count_distinct, distinct_values, field_types, min_max

METAS: list[dict[str, Any]] = [
    {"n": 2, "tags": ["b"]},
    {"n": 2.0, "tags": ["a"], "sure": True},
    {"n": None, "tags": ["a"]},
    {},
]


def test_lists_and_equal_numbers_of_different_types_are_distinct() -> None:
    assert distinct_values(METAS, "meta.tags") == [["a"], ["b"]]
    assert [type(value) for value in distinct_values(METAS, "n")] == [int, float]
    assert count_distinct(METAS, ["n", "meta.tags", "x"]) == {"n": 2, "tags": 2, "x": 0}


def test_types_are_named_as_haystack_names_them() -> None:
    names = {"n": "float", "tags": "keyword", "sure": "boolean"}
    assert field_types(METAS) == {name: {"type": kind} for name, kind in names.items()}


def test_numbers_and_texts_have_no_least_value_in_common() -> None:
    assert min_max([{"n": 2}, {"n": "x"}], "n") == min_max(METAS, "tags") == {"min": None, "max": None}
    assert min_max([{"n": "b"}, {"n": "a"}], "meta.n") == {"min": "a", "max": "b"}
