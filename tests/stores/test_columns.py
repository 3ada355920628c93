import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.stores.base import LINE
from everthread.stores.columns import Choice, Columns
from everthread.types import Seqs


def lines(seqs: list[int]) -> npt.NDArray[np.void]:
    """Lines of three sessions, of ten terms, by clocks an hour east of UTC."""
    return np.array([(seq, seq * 1_000_000 + 3_600_000_000, 3600, seq // 10, seq % 2, 10, 5, 0) for seq in seqs], LINE)


def columns(seqs: list[int]) -> Columns:
    return Columns.of(lines(seqs))


def array(values: set[int]) -> Seqs:
    return np.array(sorted(values), np.int64)


some = st.sets(st.integers(1, 30))


@given(st.permutations(range(1, 9)))
def test_a_picture_is_in_order_whatever_the_order_of_the_lines(seqs: list[int]) -> None:
    made = columns(seqs)
    assert made.seqs.tolist() == made.lines["seq"].tolist() == list(range(1, 9))


@given(some, some)
def test_only_lines_that_are_there_are_given(there: set[int], wanted: set[int]) -> None:
    assert columns(list(there)).at(array(wanted))["seq"].tolist() == sorted(there & wanted)


@settings(max_examples=60)
@given(st.lists(st.tuples(some, some), max_size=6))
def test_a_picture_made_newer_is_the_one_made_at_once(steps: list[tuple[set[int], set[int]]]) -> None:
    made, there = columns([]), set[int]()
    pictures: list[tuple[Columns, list[int]]] = []
    for gone, new in steps:
        pictures.append((made, made.seqs.tolist()))
        left = there - gone
        made = made.newer(~np.isin(made.seqs, array(gone)) if gone else None, columns(list(new - left)))
        there = left | new
    assert made.seqs.tolist() == made.lines["seq"].tolist() == sorted(there)
    assert all(picture.seqs.tolist() == picture.lines["seq"].tolist() == then for picture, then in pictures)


def test_times_are_compared_in_utc() -> None:
    made = columns(list(range(1, 31)))
    assert made.allowed(Choice(since=29_000_000)).tolist() == [29, 30]
    assert made.allowed(Choice(until=3_000_000)).tolist() == [1, 2]


def test_every_part_of_a_filter_must_hold() -> None:
    made = columns(list(range(1, 31)))
    assert made.allowed(Choice()).tolist() == list(range(1, 31))
    assert made.allowed(Choice(sessions=[0, 2], speakers=[1], since=8_000_000)).tolist() == [9, 21, 23, 25, 27, 29]
    assert made.allowed(Choice(sessions=[], speakers=[1])).tolist() == []


def test_of_a_session_only_the_lines_among_these_count() -> None:
    made = columns(list(range(1, 31)))
    assert made.sessions(np.array([0, 1]), array({3, 5, 12, 25})).tolist() == [[0, 3, 5, 20], [1, 12, 12, 10]]
