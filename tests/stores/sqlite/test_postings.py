import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.postings import POSTING_DTYPE
from everthread.stores.sqlite import postings
from stores.sqlite.banks import new_bank

Model = dict[str, dict[int, tuple[int, int]]]  # term -> seq -> (tf, head)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(new_bank()) as made:
        yield made


def stored(db: sqlite3.Connection, term: str) -> dict[int, tuple[int, int]]:
    found = postings.read(db, [term], 1, 10**9)[term]
    assert found.df == len(found.records)
    return {int(seq): (int(tf), int(head)) for seq, tf, head in found.records}


def put(db: sqlite3.Connection, term: str, seqs: range) -> None:
    postings.add(db, {term: [(seq, 1, 0) for seq in seqs]})


terms = st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(1, 70_000), st.integers(0, 70_000)))
steps = st.lists(
    st.tuples(st.just("add"), terms) | st.tuples(st.just("remove"), st.sets(st.integers(1, 30))), max_size=30
)


@examples(60)
@given(steps)
def test_added_and_removed_records_match_a_dictionary(
    steps: list[tuple[str, dict[str, tuple[int, int]] | set[int]]],
) -> None:
    model: Model = {term: {} for term in "abc"}
    seq = 0
    with closing(new_bank()) as db:
        for _, step in steps:
            if isinstance(step, dict):
                seq += 1
                postings.add(
                    db, {term: [(seq, min(tf, 65_535), min(head, 65_535))] for term, (tf, head) in step.items()}
                )
                for term, (tf, head) in step.items():
                    model[term][seq] = (min(tf, 65_535), min(head, 65_535))
            else:
                gone = {term: sorted(step & set(model[term])) for term in "abc"}
                postings.remove(db, {term: seqs for term, seqs in gone.items() if seqs})
                for term, seqs in gone.items():
                    for each in seqs:
                        del model[term][each]
        assert {term: stored(db, term) for term in "abc"} == model
        assert all(list(stored(db, term)) == sorted(stored(db, term)) for term in "abc")


def test_blocks_fill_up_before_new_ones_begin(db: sqlite3.Connection) -> None:
    put(db, "cat", range(1, 301))
    put(db, "cat", range(301, 1001))
    blocks = db.execute("SELECT first, count FROM posting WHERE term = 'cat' ORDER BY first").fetchall()
    assert blocks == [(1, 256), (257, 256), (513, 256), (769, 232)]
    assert list(stored(db, "cat")) == list(range(1, 1001))


@pytest.mark.parametrize("gone", [range(1, 257), range(250, 520), range(1, 1001), range(1000, 1001), range(3, 1000, 7)])
def test_a_removal_may_span_several_blocks(db: sqlite3.Connection, gone: range) -> None:
    put(db, "cat", range(1, 1001))
    postings.remove(db, {"cat": gone})
    assert set(stored(db, "cat")) == set(range(1, 1001)) - set(gone)


def test_removing_missing_records_is_harmless(db: sqlite3.Connection) -> None:
    put(db, "cat", range(5, 8))
    postings.remove(db, {"cat": [1, 9], "dog": [3]})
    assert list(stored(db, "cat")) == [5, 6, 7]


def test_an_emptied_block_is_deleted(db: sqlite3.Connection) -> None:
    put(db, "cat", range(1, 3))
    postings.remove(db, {"cat": [1, 2]})
    assert db.execute("SELECT count(*) FROM posting").fetchone() == (0,)


def test_a_common_term_is_counted_but_not_read(db: sqlite3.Connection) -> None:
    put(db, "rare", range(1, 4))
    put(db, "common", range(1, 101))
    found = postings.read(db, ["common", "rare", "absent"], 3, 50)
    assert (found["rare"].df, len(found["rare"].records)) == (3, 3)
    assert (found["common"].df, len(found["common"].records)) == (100, 0)
    assert (found["absent"].df, len(found["absent"].records)) == (0, 0)


def test_only_the_rarest_terms_are_read(db: sqlite3.Connection) -> None:
    for number, term in enumerate(["one", "two", "three"], 1):
        put(db, term, range(1, number + 1))
    assert list(postings.read(db, ["three", "two", "one", "two"], 2, 1000)) == ["one", "two"]


@examples(60)
@given(st.lists(st.sets(st.sampled_from("abcd"), max_size=3), max_size=40), st.sets(st.integers(1, 50)))
def test_postings_within_some_lines_exclude_all_others(lines: list[set[str]], chosen: set[int]) -> None:
    among = np.array(sorted(chosen), np.int64)
    with closing(new_bank()) as db:
        for seq, here in enumerate(lines, 1):
            postings.add(db, {term: [(seq, 1, 1)] for term in here})
        found = postings.read(db, [*"abcdz"], 5, 10**9, among)
    assert set(found) == set("abcdz")
    for term, posting in found.items():
        assert posting.records["seq"].tolist() == [
            seq for seq, here in enumerate(lines, 1) if term in here and seq in chosen
        ]
        assert posting.df == len(posting.records)
    assert [posting.df for posting in found.values()] == sorted(posting.df for posting in found.values())


def test_a_common_term_is_counted_up_to_a_time_without_being_read(db: sqlite3.Connection) -> None:
    put(db, "tea", range(1, 3001))
    put(db, "tax", range(2001, 3001))
    until = np.arange(1, 1001)
    found = postings.read(db, ["tea", "tax"], 2, 100, until)
    assert not len(found["tea"].records)
    assert (found["tea"].df, found["tax"].df) == (1000, 0)
    assert postings.read(db, ["tea"], 1, 100, np.arange(0))["tea"].df == 0


def test_records_are_eight_bytes() -> None:
    assert POSTING_DTYPE.itemsize == 8
    assert np.array([(1, 2, 3)], POSTING_DTYPE).tobytes() == b"\x01\x00\x00\x00\x02\x00\x03\x00"
