from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recipes.goodai.tokenizers import words
from everthread.text.tokenized_text import Text, from_state, make_text, to_state


def made(text: str) -> Text:
    return make_text(1, text, words(text), {}, None, None)


@given(st.text(alphabet="ab. \n", min_size=1, max_size=30))
def test_the_tokens_are_the_whole_text(text: str) -> None:
    found = made(text)
    count = len(found.starts)
    assert "".join(found.pieces(0, count)) == found.join_tokens(0, count) == text
    assert all(found.pieces(0, count))
    assert [found.join_tokens(n, n + 1) for n in range(count)] == found.pieces(0, count)
    for n in range(count):
        assert found.drop_tokens(n).pieces(0, count - n) == found.pieces(n, count)


def test_a_text_survives_json_with_its_time_and_offset() -> None:
    at = datetime(2024, 5, 6, 12, 30, 1, 5, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    text = make_text(7, "a b", [0, 2], {"x": [1, {"y": None}]}, at, 4)
    back = from_state(json.loads(json.dumps(to_state(text))))
    assert back == text
    assert back.timestamp is not None
    assert back.timestamp.utcoffset() == timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ({1: "x"}, "str keys, and lists instead of tuples, got {1: 'x'}"),
        ({"x": (1, 2)}, "lists instead of tuples"),
        ({"x": float("nan")}, "must be JSON-serialisable"),
        ({"x": datetime(2024, 1, 1, tzinfo=UTC)}, "must be JSON-serialisable"),
    ],
)
def test_metadata_that_json_would_change_is_rejected(metadata: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        make_text(1, "a", [0], metadata, None, None)  # type: ignore[arg-type]
