from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.sqlite.deletion import ranges


@given(st.sets(st.integers(1, 60)))
def test_ranges_are_the_numbers_and_no_others(numbers: set[int]) -> None:
    found = ranges(sorted(numbers))
    assert [n for first, last in found for n in range(first, last + 1)] == sorted(numbers)


@given(st.sets(st.integers(1, 60)))
def test_ranges_are_as_few_as_can_be(numbers: set[int]) -> None:
    found = ranges(sorted(numbers))
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(found))
