import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.arrays import ArrayPatch
from everthread.stores.base import LINE_DTYPE
from everthread.stores.line_columns import ColumnFilter, LineColumns
from everthread.types import Seqs


def lines(seqs: list[int]) -> npt.NDArray[np.void]:
    """Lines of three sessions, of ten terms, by clocks an hour east of UTC."""
    return np.array(
        [(seq, seq * 1_000_000 + 3_600_000_000, 3600, seq // 10, seq % 2, 10, 5, 0) for seq in seqs], LINE_DTYPE
    )


def columns(seqs: list[int]) -> LineColumns:
    return LineColumns.from_lines(lines(seqs))


def array(values: set[int]) -> Seqs:
    return np.array(sorted(values), np.int64)


seq_sets = st.sets(st.integers(1, 30))


@given(seq_sets, seq_sets)
def test_only_existing_lines_are_selected(existing: set[int], wanted: set[int]) -> None:
    assert columns(sorted(existing)).select(array(wanted))["seq"].tolist() == sorted(existing & wanted)


def test_patching_a_snapshot_does_not_change_the_old_one() -> None:
    old = columns([1, 2, 5, 6])
    removed = old.apply(ArrayPatch([(1, 3, 1)]), lines([2]))
    assert removed.seqs.tolist() == removed.lines["seq"].tolist() == [1, 2, 6]
    grown = removed.apply(ArrayPatch([(3, 3, 2)]), lines([7, 8]))
    assert grown.seqs.tolist() == grown.lines["seq"].tolist() == [1, 2, 6, 7, 8]
    assert old.seqs.tolist() == old.lines["seq"].tolist() == [1, 2, 5, 6]


def test_the_rows_of_sessions_stay_until_a_line_of_theirs_changes() -> None:
    old = columns([11, 12, 21, 31])
    old.put_sessions(np.array([[1, 11, 12, 20], [2, 21, 21, 10], [3, 31, 31, 10]]))
    removed = old.apply(ArrayPatch([(1, 2, 0)]), lines([]))
    assert removed.sessions[[1, 2, 3], 0].tolist() == [0, 2, 3]
    grown = removed.apply(ArrayPatch([(3, 3, 2)]), lines([32, 41]))
    assert grown.sessions[[1, 2, 3, 4], 0].tolist() == [0, 2, 0, 0]
    assert grown.sessions[2].tolist() == [2, 21, 21, 10]
    assert old.sessions[[1, 2, 3], 0].tolist() == [1, 2, 3]


def test_times_are_compared_in_utc() -> None:
    snapshot = columns(list(range(1, 31)))
    assert snapshot.filter_seqs(ColumnFilter(since=29_000_000)).tolist() == [29, 30]
    assert snapshot.filter_seqs(ColumnFilter(until=3_000_000)).tolist() == [1, 2]


def test_every_part_of_a_filter_must_hold() -> None:
    snapshot = columns(list(range(1, 31)))
    assert snapshot.filter_seqs(ColumnFilter()).tolist() == list(range(1, 31))
    assert snapshot.filter_seqs(ColumnFilter(sessions=[0, 2], speakers=[1], since=8_000_000)).tolist() == [
        9,
        21,
        23,
        25,
        27,
        29,
    ]
    assert snapshot.filter_seqs(ColumnFilter(sessions=[], speakers=[1])).tolist() == []


def test_session_rows_count_only_the_given_lines() -> None:
    snapshot = columns(list(range(1, 31)))
    assert snapshot.session_rows(np.array([0, 1]), array({3, 5, 12, 25})).tolist() == [[0, 3, 5, 20], [1, 12, 12, 10]]
