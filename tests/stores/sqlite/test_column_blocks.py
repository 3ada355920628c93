"""Packed columns compared with plain Python: a reader that reads only changes has all current records."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.sqlite import column_blocks
from everthread.stores.sqlite.column_blocks import LINES_PER_BLOCK, Records
from everthread.types import Seqs
from stores.sqlite.banks import new_bank

KIND = np.dtype([("seq", "<u4"), ("value", "<i4")])
OF = 3


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(new_bank()) as made:
        yield made


def records(pairs: list[tuple[int, int]]) -> Records:
    return np.array(pairs, KIND)


def stamp(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT stamp FROM bank").fetchone()[0])


class Reader:
    """Caches the records, and reads only changes."""

    def __init__(self) -> None:
        self.records, self.seen = records([]), 0

    def refresh(self, db: sqlite3.Connection) -> list[tuple[int, int]]:
        ids: Seqs = self.records["seq"].astype(np.int64)
        patch, more = column_blocks.changes_since(db, OF, KIND, ids, self.seen)
        self.records = patch.apply(self.records, more)
        self.seen = stamp(db)
        return [(int(seq), int(value)) for seq, value in self.records]


seqs = st.sets(st.integers(1, 4 * LINES_PER_BLOCK), max_size=12)
steps = st.lists(
    st.tuples(st.just("append"), st.integers(1, LINES_PER_BLOCK + 3))
    | st.tuples(st.just("put"), seqs)
    | st.tuples(st.just("remove"), seqs)
    | st.tuples(st.just("refresh"), st.none()),
    max_size=15,
)


@examples(80)
@given(steps)
def test_reading_only_changes_yields_all_current_records(steps: list[tuple[str, int | set[int] | None]]) -> None:
    model: dict[int, list[int]] = {}
    frequent, single = Reader(), Reader()
    with closing(new_bank()) as db:
        for number, (step, value) in enumerate(steps):
            if step == "refresh":
                frequent.refresh(db)
            elif step == "remove":
                assert isinstance(value, set)
                removed = column_blocks.remove(db, OF, KIND, np.array(sorted(value), np.int64))
                assert removed.tolist() == sorted(value & set(model))
                model = {seq: values for seq, values in model.items() if seq not in value}
            else:
                last = max(model, default=0)
                new = range(last + 1, last + 1 + value) if isinstance(value, int) else sorted(value or ())
                added = {seq: [number] * (1 + seq % 2) for seq in new}  # some lines have two records
                column_blocks.put(db, OF, records([(seq, each) for seq, values in added.items() for each in values]))
                model |= added
        current = [(seq, value) for seq in sorted(model) for value in model[seq]]
        assert frequent.refresh(db) == single.refresh(db) == current


def test_after_an_append_only_the_new_line_is_read(db: sqlite3.Connection) -> None:
    column_blocks.put(db, OF, records([(seq, 0) for seq in range(1, 1000)]))
    before = stamp(db)
    column_blocks.put(db, OF, records([(1000, 7)]))
    patch, more = column_blocks.changes_since(db, OF, KIND, np.arange(1, 1000), before)
    assert patch.edits == [(999, 999, 1)]
    assert more.tolist() == [(1000, 7)]


def test_after_a_removal_only_its_block_is_read_again(db: sqlite3.Connection) -> None:
    column_blocks.put(db, OF, records([(seq, 0) for seq in range(1, 1000)]))
    before = stamp(db)
    column_blocks.remove(db, OF, KIND, np.array([500]))
    patch, more = column_blocks.changes_since(db, OF, KIND, np.arange(1, 1000), before)
    ((first, end, count),) = patch.edits
    assert end - first == LINES_PER_BLOCK
    assert count == len(more) == LINES_PER_BLOCK - 1


def test_updates_use_the_index_of_stamps_and_first_reads_that_of_numbers(db: sqlite3.Connection) -> None:
    def plan(seen: int) -> list[str]:
        said: list[str] = []
        db.set_trace_callback(said.append)
        column_blocks.changes_since(db, OF, KIND, np.empty(0, np.int64), seen)
        db.set_trace_callback(None)
        return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {said[0]}")]

    assert plan(9)[0] == "SEARCH block USING INDEX block_stamp (of=? AND stamp>?)"
    assert plan(0) == ["SEARCH block USING INDEX block_number (of=?)"]  # without sorting


def test_records_of_different_kinds_are_separate(db: sqlite3.Connection) -> None:
    column_blocks.put(db, OF, records([(1, 1)]))
    column_blocks.put(db, OF + 1, records([(1, 2)]))
    column_blocks.remove(db, OF, KIND, np.array([1]))
    assert column_blocks.read_all(db, OF + 1, KIND).tolist() == [(1, 2)]


def test_a_block_of_codes_fits_in_one_page() -> None:
    assert 1_000_000 / LINES_PER_BLOCK < 15_000
    assert (
        LINES_PER_BLOCK * column_blocks.code_dtype(384).itemsize < 4000
    )  # the rest of a page of 4,096 bytes is for the row's other columns
