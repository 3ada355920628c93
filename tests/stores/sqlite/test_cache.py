"""The cache always matches the file, and reads as little as possible."""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from everthread.stores import dense_index
from everthread.stores.base import LINE_DTYPE
from everthread.stores.sqlite import column_blocks, rows, schema
from everthread.stores.sqlite.cache import BankCache
from everthread.types import Vectors

DIM = 64


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """Yield a bank of a thousand lines with vectors of one model."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        schema.migrate(made, "alice", 1)
        add_lines(made, range(1, 1001))
        add_vectors(made, range(1, 1001))
        yield made


def add_lines(db: sqlite3.Connection, seqs: range) -> None:
    column_blocks.put(
        db, column_blocks.LINE_COLUMNS_ID, np.array([(seq, 0, 0, 1, 1, 3, 3, 0) for seq in seqs], LINE_DTYPE)
    )


def add_vectors(db: sqlite3.Connection, seqs: range, model: str = "m", pieces: int = 1) -> None:
    rows.put_vectors(db, model, {seq: random_vectors(seq, pieces) for seq in seqs})


def random_vectors(seed: int, pieces: int = 1) -> Vectors:
    return np.random.default_rng(seed).normal(size=(pieces, DIM)).astype(np.float32)


def read_statements(db: sqlite3.Connection, cache: BankCache) -> list[str]:
    """Return the statements that run when columns and index are requested."""
    said: list[str] = []
    db.set_trace_callback(said.append)
    cache.line_columns(db)
    cache.dense_index(db, "m", DIM, exact=True)
    db.set_trace_callback(None)
    return [sql for sql in said if "FROM block" in sql or "FROM vector" in sql]


def test_nothing_is_read_if_nothing_has_changed(db: sqlite3.Connection) -> None:
    cache = BankCache()
    for _ in range(2):
        read_statements(db, cache)
    held = cache.line_columns(db), cache.dense_index(db, "m", DIM)
    assert read_statements(db, cache) == []
    assert held[0] is cache.line_columns(db)
    assert held[1] is cache.dense_index(db, "m", DIM)


def test_an_added_line_is_appended_to_the_cache(db: sqlite3.Connection) -> None:
    cache = BankCache()
    for _ in range(2):
        read_statements(db, cache)
    before = cache.dense_index(db, "m", DIM)
    add_lines(db, range(1001, 1002))
    add_vectors(db, range(1001, 1002), pieces=3)
    assert all("stamp > " in sql or "id BETWEEN" in sql for sql in read_statements(db, cache))
    after = cache.dense_index(db, "m", DIM)
    assert cache.line_columns(db).seqs.tolist() == list(range(1, 1002))
    assert after.ids.tolist() == [*range(1, 1001), 1001, 1001, 1001]
    assert before.ids.tolist() == list(range(1, 1001))


def test_vectors_of_another_model_do_not_change_the_index(db: sqlite3.Connection) -> None:
    cache = BankCache()
    before = cache.dense_index(db, "m", DIM)
    add_vectors(db, range(1, 4), "other")
    after = cache.dense_index(db, "m", DIM)
    assert after.ids is before.ids
    assert cache.dense_index(db, "other", DIM).ids.tolist() == [1, 2, 3]
    assert cache.dense_index(db, "unheard", DIM).ids.tolist() == []


def test_an_updated_cache_equals_a_new_one(db: sqlite3.Connection) -> None:
    cache = BankCache()
    for _ in range(2):
        cache.dense_index(db, "m", DIM, exact=True)
    rows.remove_vectors(db, [2, 500, 501])
    rows.put_vectors(db, "m", {500: random_vectors(7, 2), 3: random_vectors(8), 999: random_vectors(9)})
    fresh = BankCache()
    for _ in range(2):
        fresh.dense_index(db, "m", DIM, exact=True)
    held, read = cache.dense_index(db, "m", DIM), fresh.dense_index(db, "m", DIM)
    left = [seq for seq in range(1, 1001) if seq not in (2, 501)]
    assert held.ids.tolist() == read.ids.tolist() == sorted([*left, 500])
    assert (held.codes == read.codes).all()
    assert held.data is not None
    assert read.data is not None
    assert (held.data == read.data).all()


def test_whole_vectors_are_cached_from_the_second_request_on(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = BankCache()
    assert cache.dense_index(db, "m", DIM, exact=True).data is None
    assert cache.dense_index(db, "m", DIM, exact=True).data is not None
    monkeypatch.setattr(dense_index, "MAX_RESIDENT_VECTORS", 999)
    large = BankCache()
    assert [large.dense_index(db, "m", DIM, exact=True).data for _ in range(2)] == [None, None]


def test_a_recreated_bank_uses_nothing_of_the_old_cache(db: sqlite3.Connection) -> None:
    cache = BankCache()
    read_statements(db, cache)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as other:
        schema.migrate(other, "alice", 2)
        add_lines(other, range(1, 3))
        add_vectors(other, range(1, 2))
        assert cache.line_columns(other).seqs.tolist() == [1, 2]
        assert cache.dense_index(other, "m", DIM).ids.tolist() == [1]


def test_the_cache_of_a_file_is_not_used_for_another_with_equal_stamps(db: sqlite3.Connection) -> None:
    cache = BankCache()
    cache.use_file((1, 1))
    held = cache.line_columns(db)
    cache.use_file((1, 1))
    assert cache.line_columns(db) is held
    cache.use_file((1, 2))
    assert cache.line_columns(db) is not held


def test_a_restored_older_bank_is_read_again(db: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        db.backup(copy)
        add_lines(db, range(1001, 1004))
        add_vectors(db, range(1001, 1004))
        cache = BankCache()
        assert len(cache.line_columns(db).seqs) == len(cache.dense_index(db, "m", DIM).ids) == 1003
        assert len(cache.line_columns(copy).seqs) == len(cache.dense_index(copy, "m", DIM).ids) == 1000


def test_whole_vectors_are_dropped_when_the_bank_exceeds_the_limit(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_index, "MAX_RESIDENT_VECTORS", 1000)
    cache = BankCache()
    assert [cache.dense_index(db, "m", DIM, exact=True).data is None for _ in range(2)] == [True, False]
    add_vectors(db, range(1001, 1002))
    assert [cache.dense_index(db, "m", DIM, exact=True).data for _ in range(2)] == [None, None]
    assert len(cache.dense_index(db, "m", DIM).ids) == 1001


def test_nothing_of_a_dropped_model_is_cached(db: sqlite3.Connection) -> None:
    cache = BankCache()
    gone = weakref.ref(cache.dense_index(db, "m", DIM))
    add_vectors(db, range(1, 4), "other")
    rows.drop_model(db, rows.find_model(db, "m", DIM) or 0)
    assert cache.dense_index(db, "other", DIM).ids.tolist() == [1, 2, 3]
    assert gone() is None
