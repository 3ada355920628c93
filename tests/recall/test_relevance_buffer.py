from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.neighbours import Span
from everthread.recall.relevance_buffer import MAX_PASSAGE_LINES, MAX_PASSAGES, push_spans
from recall.made import remembered

SPANS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair))), max_size=25)


def covered(spans: list[Span]) -> list[int]:
    return [seq for first, last in spans for seq in range(first, last + 1)]


def test_the_newest_passage_stands_last() -> None:
    assert push_spans([(1, 3), (7, 9)], [(20, 22), (30, 31)]) == [(1, 3), (7, 9), (20, 22), (30, 31)]


def test_the_first_in_is_the_first_out() -> None:
    spans = [(10 * n, 10 * n + 2) for n in range(1, 15)]
    assert push_spans([], spans) == spans[-MAX_PASSAGES:]
    assert push_spans(push_spans([], spans[:11]), spans[11:]) == spans[-MAX_PASSAGES:]


def test_a_passage_recalled_again_moves_to_the_end() -> None:
    assert push_spans([(1, 3), (7, 9)], [(1, 3)]) == [(7, 9), (1, 3)]


def test_passages_that_overlap_become_one() -> None:
    assert push_spans([(1, 3), (20, 22), (5, 8)], [(3, 5)]) == [(20, 22), (1, 8)]


def test_passages_that_only_touch_stay_two() -> None:
    assert push_spans([(1, 3)], [(4, 6)]) == [(1, 3), (4, 6)]


def test_without_room_nothing_is_held() -> None:
    assert push_spans([(1, 3)], [(4, 6)], capacity=0) == []


@given(SPANS, st.integers(1, 12))
def test_no_line_is_held_twice_and_the_capacity_holds(spans: list[Span], capacity: int) -> None:
    held = push_spans([], spans, capacity)
    assert len(held) <= capacity
    assert len(covered(held)) == len(set(covered(held)))


@given(SPANS)
def test_with_room_enough_every_line_is_held(spans: list[Span]) -> None:
    assert set(covered(push_spans([], spans, capacity=100))) == set(covered(spans))


@given(SPANS)
def test_all_at_once_is_the_same_as_one_by_one(spans: list[Span]) -> None:
    held: list[Span] = []
    for span in spans:
        held = push_spans(held, [span])
    assert push_spans([], spans) == held


@given(SPANS, st.tuples(st.integers(1, 60), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair))))
def test_what_was_just_recalled_is_in_the_last_passage(spans: list[Span], new: Span) -> None:
    first, last = push_spans(push_spans([], spans), [new])[-1]
    assert first <= new[0]
    assert last >= new[1]


def test_what_was_recalled_stays_in_view_in_its_session_alone(tmp_path: Path) -> None:
    facts = [
        "The saxophone stands in the attic.",
        *(f"Number {n} is a plain number." for n in range(30)),
        "My aunt breeds alpacas in Wales.",
    ]
    with remembered(tmp_path, facts) as memory:
        memory.observe("Hello again.", session="today")
        memory.context("Where is the saxophone, in the attic?", session="today", gate=False)
        spans = [memory.store.buffer("bank", "today")]
        memory.context("aunt breeds alpacas Wales", session="today", gate=False)
        spans.append(memory.store.buffer("bank", "today"))
        assert any(first <= 1 <= last for first, last in spans[0])
        assert any(first <= 1 <= last for first, last in spans[1])
        assert all(a != b for a, b in pairwise(spans))
        held = memory.context("zzz", session="today")
        assert 1 in {line.seq for line in held.lines}
        assert memory.context("zzz").lines == ()
        assert memory.store.buffer("bank", "s1") == []


def test_a_passage_that_would_grow_without_end_starts_anew() -> None:
    held: list[Span] = []
    for seq in range(1, 200):
        held = push_spans(held, [(seq, seq + 1)])
    assert all(last - first < MAX_PASSAGE_LINES for first, last in held)
    assert held[-1][1] == 200
