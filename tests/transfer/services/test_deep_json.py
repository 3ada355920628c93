from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.transfer.services.deep_json import parse_deep_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@settings(max_examples=20)
@given(VALUES, st.sampled_from([None, 2]))
def test_json_of_any_form_is_parsed_as_by_the_standard_library(value: object, indent: int | None) -> None:
    assert parse_deep_json(json.dumps(value, indent=indent)) == value


def test_json_may_be_nested_as_deeply_as_it_is_long() -> None:
    value, depth = parse_deep_json(" [" * 50_000 + "]" * 50_000), 0
    while isinstance(value, list) and value:
        value, depth = value[0], depth + 1
    assert depth == 49_999


BROKEN = ("", " ", "[", "]", "{", "[1", "[1,", "[1 2]", "[1,]", "[,1]", "{1:2}", "[1}", "[] []", "nul", "01")


@pytest.mark.parametrize("text", [*BROKEN, '{"a"}', '{"a":}', '{"a":1,}'])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_deep_json(text)
