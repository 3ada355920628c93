from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recipes.goodai.vector_index import VectorIndex
from everthread.types import Vectors


def unit(*rows: list[float]) -> Vectors:
    found = np.array(rows, np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=-1, keepdims=True), np.float32)


def near(nearest: VectorIndex, *query: list[float]) -> list[tuple[int, float]]:
    return [(id, round(distance, 5)) for id, distance in nearest.search(unit(*query))]


def test_the_distance_is_the_square_of_the_euclidean_one() -> None:
    nearest = VectorIndex()
    nearest.put([7, 8, 9], unit([0, 1], [1, 0], [-1, 0])[:, None])
    assert near(nearest, [1, 0]) == [(8, 0.0), (7, 2.0), (9, 4.0)]


def test_the_nearest_pair_of_several_vectors_determines_the_score() -> None:
    nearest = VectorIndex()
    nearest.put([1, 2], np.stack([unit([0, 1], [1, 1]), unit([0, -1], [-1, 0])]))
    assert near(nearest, [1, 0]) == [(1, round(2 - 2**0.5, 5)), (2, 2.0)]
    assert near(nearest, [1, 0], [0, -1]) == [(2, 0.0), (1, round(2 - 2**0.5, 5))]


def test_the_older_of_equal_ids_comes_first() -> None:
    nearest = VectorIndex()
    nearest.put([5, 3, 4], unit([1, 0], [1, 0], [1, 0])[:, None])
    assert [id for id, _ in near(nearest, [1, 0])] == [3, 4, 5]


def test_an_empty_index_finds_nothing() -> None:
    assert list(VectorIndex().search(unit([1, 0]))) == []


def test_other_shapes_are_rejected() -> None:
    nearest = VectorIndex()
    nearest.put([1], unit([1, 0])[:, None])
    with pytest.raises(BadInput, match=r"returned vectors of shape \(2, 2\) after \(1, 2\)"):
        nearest.put([2], unit([1, 0], [0, 1])[None])
    with pytest.raises(BadInput, match="query has 3 dimensions, the texts 2"):
        nearest.search(unit([1, 0, 0]))


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(1, 12), max_size=5, unique=True)), max_size=15))
def test_the_index_holds_the_latest_vectors_that_were_not_dropped(operations: list[tuple[bool, list[int]]]) -> None:
    nearest, model = VectorIndex(), dict[int, Vectors]()
    random = np.random.default_rng(1)
    for putting, ids in operations:
        if putting:
            vectors = random.standard_normal((len(ids), 2, 4)).astype(np.float32)
            nearest.put(ids, vectors)
            model.update(zip(ids, vectors, strict=True))
        else:
            nearest.drop(ids)
            for id in ids:
                model.pop(id, None)
        ids_now, rows = nearest.all()
        assert sorted(ids_now.tolist()) == sorted(model)
        assert all(np.array_equal(row, model[id]) for id, row in zip(ids_now.tolist(), rows, strict=True))
