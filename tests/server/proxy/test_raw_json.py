"""Positions in JSON: parts are removed or replaced, and everything else stays the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy import raw_json
from everthread.server.proxy.raw_json import Edit, Scanner, apply_edits, locate_object, remove

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
INDENTS = st.sampled_from([None, 0, 1])


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5), INDENTS, st.booleans())
def test_members_are_read_with_their_positions(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    scanner = Scanner(text)
    members = scanner.read_members()
    scanner.require_end()
    assert {name: span.value for name, span in members.items()} == value
    for name, span in members.items():
        assert json.loads(text[span.value_start : span.end]) == value[name]
        assert json.loads(f"{{{text[span.start : span.end]}}}") == {name: value[name]}


@given(st.lists(VALUES, max_size=6), st.sets(st.integers(0, 5)), INDENTS)
def test_removed_items_leave_valid_json(items: list[Any], removed: set[int], indent: int | None) -> None:
    text = json.dumps(items, indent=indent)
    spans = Scanner(text).read_items()
    removed = {index for index in removed if index < len(items)}
    left = apply_edits(text, remove(spans, removed))
    assert json.loads(left) == [item for index, item in enumerate(items) if index not in removed]


@given(VALUES, st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.text('"\\\\{}[],', max_size=9), INDENTS)
def test_an_object_is_located_from_its_end(before: Any, value: dict[str, Any], marks: str, indent: int | None) -> None:
    text = json.dumps([before, marks, {**value, marks: [marks, {}]}], indent=indent, ensure_ascii=False)
    start = locate_object(text, text.rindex("}") + 1)
    assert start == Scanner(text).read_items()[2].start


@pytest.mark.parametrize(
    "text",
    ["", "[", "{", "[1", "[1,]", "[,1]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", '{"a" 1}', "[1 2]", '["\n"]', "[1] 2"],
)
def test_invalid_json_is_an_error(text: str) -> None:
    def read() -> None:
        scanner = Scanner(text)
        if text.startswith("{"):
            scanner.read_members()
        else:
            scanner.read_items()
        scanner.require_end()

    with pytest.raises(ValueError):
        read()


def test_json_with_very_many_marks_is_read_by_the_scanner_that_lets_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([[[]] * 50, {"a": [1, "é"]}])
    fast = [span.value for span in Scanner(text).read_items()]
    monkeypatch.setattr(raw_json, "MAX_FAST_MARKS", 10)
    assert [span.value for span in Scanner(text).read_items()] == fast
    with pytest.raises(ValueError):
        Scanner("[" + "[1]," * 20 + "x]").read_items()


def test_edits_are_applied_by_position() -> None:
    assert apply_edits("abcdef", [Edit(4, 5, "E"), Edit(0, 2), Edit(2, 2, "X"), Edit(2, 2, "Y")]) == "XYcdEf"


def test_edits_that_overlap_leave_nothing_twice() -> None:
    assert apply_edits("abcdef", [Edit(1, 3), Edit(1, 1, "X"), Edit(2, 4, "Y")]) == "aXYef"
    assert apply_edits("abcdef", [Edit(0, 5), Edit(1, 2)]) == "f"
