from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.arrays import (
    ArrayPatch,
    append_rows,
    distinct_small,
    find_greatest,
    find_positions,
    is_member,
    max_by_id,
    repeat_indexes,
    to_ranges,
    union,
)
from everthread.types import Seqs

numbers = st.lists(st.integers(0, 40), max_size=30)


def sorted_array(values: list[int]) -> Seqs:
    return np.array(sorted(values), np.int64)


@given(numbers, st.sets(st.integers(0, 60)))
def test_membership_matches_pythons_in_operator(ids: list[int], among: set[int]) -> None:
    found = is_member(sorted_array(ids), sorted_array(list(among)))
    assert found.tolist() == [each in among for each in sorted(ids)]


@given(numbers, st.sets(st.integers(0, 60)))
def test_all_positions_of_the_wanted_ids_are_found(ids: list[int], wanted: set[int]) -> None:
    found = find_positions(sorted_array(ids), sorted_array(list(wanted)))
    assert found.tolist() == [at for at, each in enumerate(sorted(ids)) if each in wanted]


@given(numbers)
def test_each_number_is_returned_once(ids: list[int]) -> None:
    assert distinct_small(np.array(ids, np.int64)).tolist() == sorted(set(ids))


@given(numbers)
def test_repetitions_of_an_id_are_counted_from_zero(ids: list[int]) -> None:
    ids = sorted(ids)
    assert repeat_indexes(np.array(ids, np.int64)).tolist() == [ids[:at].count(each) for at, each in enumerate(ids)]


@given(st.lists(numbers, max_size=8))
def test_appending_rows_does_not_change_older_arrays(batches: list[list[int]]) -> None:
    grown = np.empty(0, np.int64)
    pictures: list[tuple[Seqs, list[int]]] = []
    for batch in batches:
        pictures.append((grown, grown.tolist()))
        grown = append_rows(grown, np.array(batch, np.int64))
    assert grown.tolist() == [each for batch in batches for each in batch]
    assert all(picture.tolist() == then for picture, then in pictures)


def test_appending_copies_nothing_while_there_is_spare_capacity() -> None:
    grown = append_rows(np.arange(1000), np.arange(1))
    more = append_rows(grown, np.arange(1))
    assert np.shares_memory(grown, more)
    assert len(more) == 1002


@given(numbers, st.data())
def test_a_patch_matches_slicing_of_a_list(old: list[int], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(old)), max_size=8)))
    places, new, expected, held = [], [], list[int](), 0
    for first, end in zip(cuts[::2], cuts[1::2], strict=False):
        more = data.draw(numbers)
        places.append((first, end, len(more)))
        new += more
        expected += old[held:first] + more
        held = end
    before = np.array(old, np.int64)
    spliced = ArrayPatch(places).apply(before, np.array(new, np.int64))
    assert spliced.tolist() == expected + old[held:]
    both = np.stack([before, -before])
    assert ArrayPatch(places).apply(both, np.array([new, new], np.int64), 1)[0].tolist() == expected + old[held:]
    assert before.tolist() == old


@given(st.lists(st.lists(st.integers(-5, 30)), min_size=1))
def test_a_union_has_each_number_once_ascending(parts: list[list[int]]) -> None:
    found = union(*(np.array(part, np.int64) for part in parts))
    assert found.tolist() == sorted({number for part in parts for number in part})


@given(st.sets(st.integers(1, 60)))
def test_ranges_contain_exactly_the_numbers(numbers: set[int]) -> None:
    found = to_ranges(sorted(numbers))
    assert [n for first, last in found for n in range(first, last + 1)] == sorted(numbers)


@given(st.sets(st.integers(1, 60)))
def test_there_are_as_few_ranges_as_possible(numbers: set[int]) -> None:
    found = to_ranges(sorted(numbers))
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(found))


def test_the_greatest_value_of_each_id_is_found_and_missing_ids_yield_nan() -> None:
    found = max_by_id(np.array([2, 4, 9]), np.array([2, 2, 5, 9]), np.array([0.1, 0.3, 0.9, -0.5], np.float32))
    assert found[[0, 2]].tolist() == pytest.approx([0.3, -0.5])
    assert np.isnan(found[1])


@given(st.lists(st.integers(-3, 3)), st.integers(1, 12))
def test_the_greatest_values_are_those_of_a_stable_sort(values: list[int], k: int) -> None:
    scores = np.array(values, np.float32)
    assert find_greatest(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()
