"""The places where runs of tokens are cut into chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recipes.goodai.cutting import BOUNDARIES, LINE, NONE, Cutting, line_starts

PIECES = st.lists(
    st.sampled_from(["I", " like", " tea", ".", "\n", "\n\n", " Mia", " moved", "猫", "。", " "]), max_size=40
)


def test_without_boundaries_a_chunk_begins_every_step_tokens() -> None:
    assert Cutting(4, 2, NONE).spans(list("abcdefg"), at=10) == [(10, 14), (12, 16), (14, 17), (16, 17)]


def test_a_chunk_ends_with_its_line() -> None:
    pieces = ["I", " like", " tea", ".\n", "Mia", " moved", "."]
    assert Cutting(5, 5, LINE).spans(pieces, at=0) == [(0, 4), (4, 7)]
    assert Cutting(3, 2, LINE).spans(pieces, at=0) == [(0, 3), (2, 4), (4, 7)]


@pytest.mark.parametrize(
    ("pieces", "starts"),
    [
        (["I", " like", "\n", "tea", "."], []),  # wrapped
        (["I", " like", "\n\n", "tea", "."], [3]),
        (["Tea", ".\n", "milk"], [2]),
        (["Tea", "\n", "Milk"], [2]),
        (["喝茶", "。", "\n", "牛奶"], [3]),
        (["\n", "\n", "Tea", "\n", "\n"], [2]),
    ],
)
def test_a_row_in_lower_case_continues_the_line_unless_that_ended_a_sentence(
    pieces: list[str], starts: list[int]
) -> None:
    assert list(line_starts(pieces)) == starts


@given(pieces=PIECES, capacity=st.integers(1, 8), step=st.integers(1, 8), boundary=st.sampled_from(BOUNDARIES))
def test_chunks_hold_every_token_in_order_and_none_is_too_long(
    pieces: list[str], capacity: int, step: int, boundary: str
) -> None:
    spans = Cutting(capacity, min(step, capacity), boundary).spans(pieces, at=100)
    assert {position - 100 for first, end in spans for position in range(first, end)} == set(range(len(pieces)))
    assert spans == sorted(spans)
    assert all(0 < end - first <= capacity for first, end in spans)
    if boundary == LINE:
        starts = [100 + index for index in line_starts(pieces)]
        assert not [span for span in spans for start in starts if span[0] < start < span[1]]


def test_an_unknown_boundary_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="invalid boundary 'page'; expected one of line, none"):
        Cutting(4, 2, "page")
