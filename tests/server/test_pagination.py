"""Long lists in pages."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everthread.errors import BadQuery
from everthread.server.pagination import build_page, decode_cursor, encode_cursor


@given(st.lists(st.integers(0, 99), unique=True), st.integers(1, 10))
def test_pages_together_are_the_list(items: list[int], limit: int) -> None:
    items, listed, after = sorted(items), [], None
    while True:
        previous = decode_cursor(after, (int,))
        page = build_page((item for item in items if not previous or item > previous[0]), limit, lambda item: [item])
        listed += page["items"]
        assert len(page["items"]) <= limit
        if (after := page["next"]) is None:
            break
    assert listed == items


@given(st.text(max_size=50), st.integers())
def test_a_cursor_is_read_as_it_was_written(text: str, number: int) -> None:
    assert decode_cursor(encode_cursor([text, number]), (str, int)) == [text, number]


@given(st.text(max_size=50))
@example("W10")
@example("W3RydWVd")
def test_an_invalid_cursor_is_rejected(text: str) -> None:
    with pytest.raises(BadQuery, match=r"invalid after: got .*, expected the `next` of the previous page"):
        decode_cursor(text, (int, str))
