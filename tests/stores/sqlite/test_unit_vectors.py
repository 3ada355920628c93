"""The cached vectors of units always match the file, even if another store wrote them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import Memory, NewLine
from everthread.stores import dense_index
from everthread.stores.sqlite.cache import BankCache
from everthread.stores.sqlite.store import SQLiteStore
from everthread.stores.sqlite.unit_vectors import UnitVectors
from everthread.stores.unit_store import UnitCosines, UnitReplacement
from everthread.testing import HashEmbedder
from everthread.types import NewUnit, Vectors

DIM, MODELS, KINDS, LINES = 8, ("m", "other"), ("part", "fact"), 6
NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
QUERY = np.random.default_rng(0).normal(size=DIM).astype(np.float32)


def random_vectors(seed: int, pieces: int = 1) -> Vectors:
    return np.random.default_rng(seed).normal(size=(pieces, DIM)).astype(np.float32)


def unit(kind: str, seq: int) -> NewUnit:
    return NewUnit(kind, f"A {kind}.", seq, seq, NOON)


def put(store: SQLiteStore, kind: str = "part", seq: int = 1, seed: int = 1, model: str = "m") -> None:
    store.put_unit("b", unit(kind, seq), random_vectors(seed, 1 + seed % 3), model, NOON)


def rewrite(store: SQLiteStore, gone: list[int], new: int, model: str = "m") -> None:
    """Replace notes by others."""
    made = [unit("part", 1) for _ in range(new)]
    change = UnitReplacement(
        "part", gone, made, [random_vectors(each + new) for each in range(new)], 0, "s", None, lambda _: None
    )
    assert store.replace_units("b", change, model, NOON)


def fill_bank(folder: Path) -> SQLiteStore:
    """Return a bank of a few lines with notes and a fact."""
    store = SQLiteStore(folder)
    with Memory.open("b", store=store, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe_many([NewLine(f"Line {n}.", session=f"s{n % 2}", said_at=NOON) for n in range(LINES)])
    for seq in range(1, 5):
        put(store, seq=seq, seed=seq)
    put(store, "fact", 5, 9)
    return store


def read_cosines(folder: Path, kinds: tuple[str, ...] = (), model: str = "m") -> UnitCosines:
    """Return the same cosines, computed from the rows of the file."""
    with closing(sqlite3.connect(folder / "b.bank")) as db:
        rows = db.execute(
            """SELECT kind, unit_id, data FROM unit_vector WHERE model = (SELECT number FROM model WHERE name = ?
               AND dim = ?)""",
            (model, DIM),
        ).fetchall()
    found: dict[tuple[str, int], float] = {}
    for kind, number, data in rows:
        cosine = float(np.vecdot(np.frombuffer(data, np.float16).astype(np.float32), QUERY))
        if not kinds or kind in kinds:
            found[kind, number] = max(found.get((kind, number), -np.inf), cosine)
    return sorted((kind, number, cosine) for (kind, number), cosine in found.items())


def assert_close(found: UnitCosines, wanted: UnitCosines) -> None:
    assert [each[:2] for each in found] == [each[:2] for each in wanted]
    assert [each[2] for each in found] == pytest.approx([each[2] for each in wanted], abs=1e-5)


def assert_matches_file(store: SQLiteStore, folder: Path) -> None:
    """Check that the store's answer matches the file."""
    for model in MODELS:
        for kinds in ((), ("part",), KINDS, ("unheard",)):
            found = store.unit_cosines("b", model, QUERY, kinds)
            assert_close(found, read_cosines(folder, kinds, model))
            for k in (1, 3):
                best = sorted(sorted(found, key=lambda each: (-each[2], *each[:2]))[:k])
                assert store.unit_cosines("b", model, QUERY, kinds, k) == best


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = fill_bank(tmp_path)
    yield made
    made.close()


SEQ, SEED = st.integers(1, LINES), st.integers(1, 99)
MODEL, KIND = st.sampled_from(MODELS), st.sampled_from(KINDS)
STEPS = st.one_of(
    st.tuples(st.just("put"), KIND, SEQ, SEED, MODEL),
    st.tuples(st.just("rewrite"), st.lists(st.integers(1, 5), max_size=3), st.integers(0, 3), MODEL),
    st.tuples(st.just("remove"), st.lists(st.integers(1, 5), max_size=3)),
    st.tuples(st.just("restore"), KIND, st.integers(1, 5), SEED, MODEL),
    st.tuples(st.just("embed"), KIND, st.integers(1, 5), SEED, MODEL),
    st.tuples(st.just("retract"), SEQ),
    st.tuples(st.just("forget"), SEQ),
    st.tuples(st.just("drop"), MODEL),
    st.tuples(st.just("reopen")),
)


def apply_step(store: SQLiteStore, what: str, *how: object) -> None:
    if what == "restore":
        kind, number, seed, model = how
        found = store.units("b", (str(kind),), ids=[number], include_retracted=True)  # type: ignore[list-item]
        for each in found:
            store.restore_unit("b", each, random_vectors(seed), str(model))  # type: ignore[arg-type]
    elif what == "embed":
        kind, number, seed, model = how
        store.put_unit_vectors("b", str(model), {(kind, number): random_vectors(seed)})  # type: ignore[arg-type, dict-item]
    elif what == "retract":
        store.retract("b", how[0], NOON)  # type: ignore[arg-type]
    elif what == "forget":
        store.forget("b", "line", [how[0]], NOON)  # type: ignore[list-item]
    elif what == "remove":
        rewrite(store, how[0], 0)  # type: ignore[arg-type]
    elif what == "drop":
        store.drop_vectors("b", str(how[0]))
    else:
        {"put": put, "rewrite": rewrite}[what](store, *how)  # type: ignore[operator]


def is_possible(store: SQLiteStore, what: str, *how: object) -> bool:
    """Return whether the lines exist that a step needs."""
    lines = {line.seq for line in store.lines("b")}
    needed = {"put": how[1:2], "retract": how, "forget": how, "rewrite": (1,)}.get(what, ())
    return lines.issuperset(needed)


@pytest.mark.slow
@examples(40)
@given(steps=st.lists(st.tuples(st.integers(0, 1), STEPS), min_size=1, max_size=15))
def test_two_stores_of_one_file_always_match_the_file(steps: list[tuple[int, tuple[str, ...]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [fill_bank(folder), SQLiteStore(folder)]
        for which, step in steps:
            if step == ("reopen",):
                stores[which].close()
            elif is_possible(stores[which], *step):
                apply_step(stores[which], *step)
            for each in stores:
                assert_matches_file(each, folder)
        for each in stores:
            each.close()


def record_reads(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], object]) -> list[int]:
    """Record the number of rows of each read of vectors."""
    row_counts: list[int] = []
    frombuffer = np.frombuffer

    def counting(data: bytes, dtype: object) -> object:
        vectors = frombuffer(data, dtype)  # type: ignore[call-overload]
        if dtype is np.float16:
            row_counts.append(len(vectors) // DIM)
        return vectors

    with monkeypatch.context() as patch:
        patch.setattr("everthread.stores.sqlite.unit_vectors.np.frombuffer", counting)
        ask()
    return row_counts


def test_only_changed_rows_are_read(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> UnitCosines:
        return store.unit_cosines("b", "m", QUERY, ())

    assert sum(record_reads(store, monkeypatch, ask)) > 5
    assert record_reads(store, monkeypatch, ask) == []
    with Memory.open("b", store=store, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("A further line.")
    assert record_reads(store, monkeypatch, ask) == []
    put(store, seed=3)
    assert record_reads(store, monkeypatch, ask) == [1]
    rewrite(store, [5], 2)
    assert record_reads(store, monkeypatch, ask) == [2]
    rewrite(store, [6], 0)  # one of two that were written together
    assert record_reads(store, monkeypatch, ask) == [1]


def test_a_restored_older_copy_of_the_file_is_read_again(store: SQLiteStore, tmp_path: Path) -> None:
    store.close()
    shutil.copy(tmp_path / "b.bank", tmp_path / "copy")
    rewrite(store, [1], 2)
    assert_matches_file(store, tmp_path)
    store.close()
    shutil.copy(tmp_path / "copy", tmp_path / "other")
    (tmp_path / "other").replace(tmp_path / "b.bank")
    assert_matches_file(store, tmp_path)
    put(store, seq=2, seed=50)  # the same number of stamps as before, but different ones
    assert_matches_file(store, tmp_path)


def test_vectors_beyond_the_memory_limit_are_read_each_time(
    store: SQLiteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> None:
        assert_matches_file(store, tmp_path)

    ask()
    with closing(sqlite3.connect(tmp_path / "b.bank")) as db:
        (rows,) = db.execute("SELECT count(*) FROM unit_vector").fetchone()
    monkeypatch.setattr(dense_index, "MAX_RESIDENT_VECTORS", rows)
    put(store, seed=3)
    for _ in range(2):
        assert sum(record_reads(store, monkeypatch, ask)) > rows
    rewrite(store, [5], 0)  # within the limit again
    ask()
    assert record_reads(store, monkeypatch, lambda: store.unit_cosines("b", "m", QUERY, ())) == []


def test_a_snapshot_does_not_change_while_the_next_is_built(store: SQLiteStore, tmp_path: Path) -> None:
    def read_snapshot() -> UnitVectors:
        with closing(sqlite3.connect(tmp_path / "b.bank")) as db:
            found = cache.unit_vectors(db, "m", DIM)
        assert found is not None
        return found

    cache, snapshots = BankCache(), list[tuple[UnitVectors, UnitCosines]]()
    for n in range(30):
        snapshots.append((read_snapshot(), read_cosines(tmp_path)))
        rewrite(store, [each.id for each in store.units("b", ("part",))[-(n % 3) :]], 3 - n % 2)
    for snapshot, wanted in snapshots:
        assert_close(snapshot.nearest(QUERY, (), None), wanted)


def test_vectors_of_another_dimension_belong_to_another_model(store: SQLiteStore) -> None:
    assert store.unit_cosines("b", "m", np.ones(DIM + 8, np.float32), ()) == []


def test_equally_near_units_are_returned_by_kind_and_id(store: SQLiteStore) -> None:
    store.put_unit_vectors(
        "b", "m", {("part", number): QUERY[None] * 9 for number in (2, 3, 4)} | {("fact", 1): random_vectors(1)}
    )
    assert [each[:2] for each in store.unit_cosines("b", "m", QUERY, (), 2)] == [("part", 2), ("part", 3)]


def test_units_written_together_are_visible_together(store: SQLiteStore) -> None:
    end = threading.Event()
    faults: list[UnitCosines] = []

    def ask() -> None:
        while not end.is_set():
            found = store.unit_cosines("b", "m", QUERY, ("part",))
            if len(found) not in (4, 7):
                faults.append(found)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for each in asking:
        each.start()
    for _ in range(20):
        known = [each.id for each in store.units("b", ("part",))]
        rewrite(store, known[4:], 0 if known[4:] else 3)
    end.set()
    for each in asking:
        each.join()
    assert faults == []
