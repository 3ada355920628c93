from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.passages import SeqRange
from everthread.recall.relevance_buffer import MAX_PASSAGE_LINES, MAX_PASSAGES, push_ranges
from recall.builders import open_filled

RANGES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair))), max_size=25)


def covered_seqs(ranges: list[SeqRange]) -> list[int]:
    return [seq for first, last in ranges for seq in range(first, last + 1)]


def test_the_newest_passage_is_last() -> None:
    assert push_ranges([(1, 3), (7, 9)], [(20, 22), (30, 31)]) == [(1, 3), (7, 9), (20, 22), (30, 31)]


def test_the_oldest_passage_is_dropped_first() -> None:
    ranges = [(10 * n, 10 * n + 2) for n in range(1, 15)]
    assert push_ranges([], ranges) == ranges[-MAX_PASSAGES:]
    assert push_ranges(push_ranges([], ranges[:11]), ranges[11:]) == ranges[-MAX_PASSAGES:]


def test_a_passage_recalled_again_moves_to_the_end() -> None:
    assert push_ranges([(1, 3), (7, 9)], [(1, 3)]) == [(7, 9), (1, 3)]


def test_overlapping_passages_are_merged() -> None:
    assert push_ranges([(1, 3), (20, 22), (5, 8)], [(3, 5)]) == [(20, 22), (1, 8)]


def test_adjacent_passages_are_not_merged() -> None:
    assert push_ranges([(1, 3)], [(4, 6)]) == [(1, 3), (4, 6)]


def test_a_capacity_of_zero_holds_nothing() -> None:
    assert push_ranges([(1, 3)], [(4, 6)], capacity=0) == []


@given(RANGES, st.integers(1, 12))
def test_no_line_is_held_twice_and_the_capacity_is_not_exceeded(ranges: list[SeqRange], capacity: int) -> None:
    buffer = push_ranges([], ranges, capacity)
    assert len(buffer) <= capacity
    assert len(covered_seqs(buffer)) == len(set(covered_seqs(buffer)))


@given(RANGES)
def test_with_sufficient_capacity_every_line_is_held(ranges: list[SeqRange]) -> None:
    assert set(covered_seqs(push_ranges([], ranges, capacity=100))) == set(covered_seqs(ranges))


@given(RANGES)
def test_pushing_passages_together_equals_pushing_them_one_by_one(ranges: list[SeqRange]) -> None:
    buffer: list[SeqRange] = []
    for passage in ranges:
        buffer = push_ranges(buffer, [passage])
    assert push_ranges([], ranges) == buffer


@given(RANGES, st.tuples(st.integers(1, 60), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair))))
def test_the_last_pushed_passage_is_in_the_last_passage(ranges: list[SeqRange], new: SeqRange) -> None:
    first, last = push_ranges(push_ranges([], ranges), [new])[-1]
    assert first <= new[0]
    assert last >= new[1]


def test_recalled_lines_stay_in_the_buffer_of_their_session_only(tmp_path: Path) -> None:
    facts = [
        "The saxophone stands in the attic.",
        *(f"Number {n} is a plain number." for n in range(30)),
        "My aunt breeds alpacas in Wales.",
    ]
    with open_filled(tmp_path, facts) as memory:
        memory.observe("Hello again.", session="today")
        memory.context("Where is the saxophone, in the attic?", session="today", gate=False)
        ranges = [memory.store.buffer("bank", "today")]
        memory.context("aunt breeds alpacas Wales", session="today", gate=False)
        ranges.append(memory.store.buffer("bank", "today"))
        assert any(first <= 1 <= last for first, last in ranges[0])
        assert any(first <= 1 <= last for first, last in ranges[1])
        assert all(a != b for a, b in pairwise(ranges))
        buffer = memory.context("zzz", session="today")
        assert 1 in {line.seq for line in buffer.lines}
        assert memory.context("zzz").lines == ()
        assert memory.store.buffer("bank", "s1") == []


def test_a_passage_never_exceeds_the_maximum_length() -> None:
    buffer: list[SeqRange] = []
    for seq in range(1, 200):
        buffer = push_ranges(buffer, [(seq, seq + 1)])
    assert all(last - first < MAX_PASSAGE_LINES for first, last in buffer)
    assert buffer[-1][1] == 200
