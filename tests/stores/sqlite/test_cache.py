"""The cache always matches the file, and reads as little as possible."""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from everthread.stores.base import LINE_DTYPE
from everthread.stores.sqlite import column_blocks, dense_index, rows, schema
from everthread.stores.sqlite.cache import BankCache
from everthread.types import Vectors

DIM = 64


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """Yield a bank of a thousand lines with vectors of one model."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        schema.migrate(made, "alice", 1)
        say(made, range(1, 1001))
        embed(made, range(1, 1001))
        yield made


def say(db: sqlite3.Connection, seqs: range) -> None:
    column_blocks.put(
        db, column_blocks.LINE_COLUMNS_ID, np.array([(seq, 0, 0, 1, 1, 3, 3, 0) for seq in seqs], LINE_DTYPE)
    )


def embed(db: sqlite3.Connection, seqs: range, model: str = "m", pieces: int = 1) -> None:
    rows.put_vectors(db, model, {seq: some(seq, pieces) for seq in seqs})


def some(seed: int, pieces: int = 1) -> Vectors:
    return np.random.default_rng(seed).normal(size=(pieces, DIM)).astype(np.float32)


def statements(db: sqlite3.Connection, pictures: BankCache) -> list[str]:
    """Return the statements that run when columns and index are requested."""
    said: list[str] = []
    db.set_trace_callback(said.append)
    pictures.line_columns(db)
    pictures.dense_index(db, "m", DIM, exact=True)
    db.set_trace_callback(None)
    return [sql for sql in said if "FROM block" in sql or "FROM vector" in sql]


def test_nothing_is_read_if_nothing_has_changed(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    for _ in range(2):
        statements(db, pictures)
    held = pictures.line_columns(db), pictures.dense_index(db, "m", DIM)
    assert statements(db, pictures) == []
    assert held[0] is pictures.line_columns(db)
    assert held[1] is pictures.dense_index(db, "m", DIM)


def test_an_added_line_is_appended_to_the_cache(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    for _ in range(2):
        statements(db, pictures)
    before = pictures.dense_index(db, "m", DIM)
    say(db, range(1001, 1002))
    embed(db, range(1001, 1002), pieces=3)
    assert all("stamp > " in sql or "id BETWEEN" in sql for sql in statements(db, pictures))
    after = pictures.dense_index(db, "m", DIM)
    assert pictures.line_columns(db).seqs.tolist() == list(range(1, 1002))
    assert after.ids.tolist() == [*range(1, 1001), 1001, 1001, 1001]
    assert before.ids.tolist() == list(range(1, 1001))


def test_vectors_of_another_model_do_not_change_the_index(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    before = pictures.dense_index(db, "m", DIM)
    embed(db, range(1, 4), "other")
    after = pictures.dense_index(db, "m", DIM)
    assert after.ids is before.ids
    assert pictures.dense_index(db, "other", DIM).ids.tolist() == [1, 2, 3]
    assert pictures.dense_index(db, "unheard", DIM).ids.tolist() == []


def test_an_updated_cache_equals_a_new_one(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    for _ in range(2):
        pictures.dense_index(db, "m", DIM, exact=True)
    rows.remove_vectors(db, [2, 500, 501])
    rows.put_vectors(db, "m", {500: some(7, 2), 3: some(8), 999: some(9)})
    fresh = BankCache()
    for _ in range(2):
        fresh.dense_index(db, "m", DIM, exact=True)
    held, read = pictures.dense_index(db, "m", DIM), fresh.dense_index(db, "m", DIM)
    left = [seq for seq in range(1, 1001) if seq not in (2, 501)]
    assert held.ids.tolist() == read.ids.tolist() == sorted([*left, 500])
    assert (held.codes == read.codes).all()
    assert held.data is not None
    assert read.data is not None
    assert (held.data == read.data).all()


def test_whole_vectors_are_cached_from_the_second_request_on(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = BankCache()
    assert pictures.dense_index(db, "m", DIM, exact=True).data is None
    assert pictures.dense_index(db, "m", DIM, exact=True).data is not None
    monkeypatch.setattr(dense_index, "MAX_RESIDENT_VECTORS", 999)
    large = BankCache()
    assert [large.dense_index(db, "m", DIM, exact=True).data for _ in range(2)] == [None, None]


def test_a_recreated_bank_uses_nothing_of_the_old_cache(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    statements(db, pictures)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as other:
        schema.migrate(other, "alice", 2)
        say(other, range(1, 3))
        embed(other, range(1, 2))
        assert pictures.line_columns(other).seqs.tolist() == [1, 2]
        assert pictures.dense_index(other, "m", DIM).ids.tolist() == [1]


def test_the_cache_of_a_file_is_not_used_for_another_with_equal_stamps(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    pictures.use_file((1, 1))
    held = pictures.line_columns(db)
    pictures.use_file((1, 1))
    assert pictures.line_columns(db) is held
    pictures.use_file((1, 2))
    assert pictures.line_columns(db) is not held


def test_a_restored_older_bank_is_read_again(db: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        db.backup(copy)
        say(db, range(1001, 1004))
        embed(db, range(1001, 1004))
        pictures = BankCache()
        assert len(pictures.line_columns(db).seqs) == len(pictures.dense_index(db, "m", DIM).ids) == 1003
        assert len(pictures.line_columns(copy).seqs) == len(pictures.dense_index(copy, "m", DIM).ids) == 1000


def test_whole_vectors_are_dropped_when_the_bank_exceeds_the_limit(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_index, "MAX_RESIDENT_VECTORS", 1000)
    pictures = BankCache()
    assert [pictures.dense_index(db, "m", DIM, exact=True).data is None for _ in range(2)] == [True, False]
    embed(db, range(1001, 1002))
    assert [pictures.dense_index(db, "m", DIM, exact=True).data for _ in range(2)] == [None, None]
    assert len(pictures.dense_index(db, "m", DIM).ids) == 1001


def test_nothing_of_a_dropped_model_is_cached(db: sqlite3.Connection) -> None:
    pictures = BankCache()
    gone = weakref.ref(pictures.dense_index(db, "m", DIM))
    embed(db, range(1, 4), "other")
    rows.drop_model(db, rows.find_model(db, "m", DIM) or 0)
    assert pictures.dense_index(db, "other", DIM).ids.tolist() == [1, 2, 3]
    assert gone() is None
