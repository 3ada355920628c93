"""Distances are counted as if all pairs were compared, in less time."""

from __future__ import annotations

from collections import Counter

from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy.offsets import count_offsets

TEXTS = st.lists(st.sampled_from(["ok", "yes", "no"]), max_size=60)


@examples(100)
@given(TEXTS, TEXTS)
def test_the_counts_are_those_of_all_equal_pairs(ours: list[str], theirs: list[str]) -> None:
    pairs = Counter(place - other for place, one in enumerate(ours) for other, text in enumerate(theirs) if one == text)
    assert count_offsets(enumerate(ours), enumerate(theirs)) == pairs
