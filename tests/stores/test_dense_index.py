import numpy as np
import numpy.typing as npt
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.stores.arrays import ArrayPatch
from everthread.stores.dense_index import DenseIndex, cosines, hamming_distances, sign_codes, transpose_codes
from everthread.types import Seqs, Vector, Vectors


def normalize(vectors: npt.NDArray[np.float64]) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def random_vectors(count: int, dim: int = 96, seed: int = 0) -> Vectors:
    return normalize(np.random.default_rng(seed).normal(size=(count, dim)))


def build_index(ids: Seqs, vectors: Vectors) -> DenseIndex:
    return DenseIndex(ids, transpose_codes(sign_codes(vectors)), vectors.astype(np.float16))


def random_query(seed: int = 99, dim: int = 96) -> Vector:
    vector: Vector = random_vectors(1, dim, seed)[0]
    return vector


@pytest.mark.parametrize("dim", [1, 8, 63, 64, 65, 384])
def test_a_code_is_whole_words_of_sign_bits(dim: int) -> None:
    codes = sign_codes(random_vectors(5, dim))
    assert codes.shape == (5, -(-dim // 64) * 8)
    assert (np.unpackbits(codes, axis=1)[:, :dim] == (random_vectors(5, dim) > 0)).all()


@given(st.integers(1, 200), st.integers(0, 30))
def test_differing_bits_are_counted(dim: int, seed: int) -> None:
    vectors, asked = random_vectors(7, dim, seed), random_query(seed + 1, dim)
    by_hand = ((vectors > 0) != (asked > 0)).sum(axis=1)
    assert (
        hamming_distances(
            transpose_codes(sign_codes(vectors)), transpose_codes(sign_codes(asked[None, :]))[:, 0]
        ).tolist()
        == by_hand.tolist()
    )


@pytest.mark.parametrize("k", [20, 21, 1000])
def test_a_search_for_all_vectors_returns_all(k: int) -> None:
    built = build_index(np.arange(1, 21), random_vectors(20))
    assert built.nearest_ids(random_query(), k).tolist() == list(range(1, 21))


def test_a_search_returns_at_least_k_vectors_and_the_nearest_by_code() -> None:
    built = build_index(np.arange(1, 501), random_vectors(500))
    apart = hamming_distances(built.codes, transpose_codes(sign_codes(random_query()[None, :]))[:, 0])
    found = built.nearest_ids(random_query(), 50)
    assert len(found) >= 50
    assert set(found.tolist()) == set((np.flatnonzero(apart <= np.sort(apart)[49]) + 1).tolist())


def test_a_line_of_many_pieces_is_found_once() -> None:
    ids = np.array([1, 2, 2, 2, 3])
    assert build_index(ids, random_vectors(5)).nearest_ids(random_query(), 10).tolist() == [1, 2, 3]


@given(st.sets(st.integers(1, 40)))
def test_only_allowed_lines_are_found(allowed: set[int]) -> None:
    among = np.array(sorted(allowed), np.int64)
    assert build_index(np.arange(1, 31), random_vectors(30)).nearest_ids(random_query(), 100, among).tolist() == [
        n for n in sorted(allowed) if n <= 30
    ]


def test_an_empty_index_finds_nothing() -> None:
    built = build_index(np.empty(0, np.int64), np.empty((0, 96), np.float32))
    assert built.nearest_ids(random_query(), 5).tolist() == []
    assert np.isnan(built.cosines(random_query(), np.array([1, 2]))).all()


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 9)), max_size=9))
def test_a_patched_index_equals_one_built_at_once(changes: list[tuple[int, int, int]]) -> None:
    """Pieces are replaced by others, and the ids stay in order."""
    grown, ids = build_index(np.empty(0, np.int64), np.empty((0, 70), np.float32)), list[int]()
    pictures: list[tuple[DenseIndex, list[int]]] = []
    for at, length, count in changes:
        first, end = min(at, len(ids)), min(at + length, len(ids))
        low, high = ids[first - 1] if first else 0, ids[end] if end < len(ids) else 10**6
        new = sorted(int(each) for each in np.linspace(low, high, count))
        pictures.append((grown, ids))
        grown = grown.apply(ArrayPatch([(first, end, count)]), index_of(new))
        ids = [*ids[:first], *new, *ids[end:]]
    whole = index_of(ids)
    assert grown.ids.tolist() == ids
    assert (grown.codes == whole.codes).all()
    assert grown.data is not None
    assert whole.data is not None
    assert (grown.data == whole.data).all()
    assert all(picture.ids.tolist() == then for picture, then in pictures)  # an old index does not change


def index_of(ids: list[int]) -> DenseIndex:
    """Return an index in which a line's vectors depend on its number."""
    vectors = np.stack([random_vectors(1, 70, each)[0] for each in ids]) if ids else np.empty((0, 70), np.float32)
    return build_index(np.array(ids, np.int64), vectors)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30), st.sets(st.integers(1, 25)))
def test_cosines_are_those_of_numpy(pieces: list[int], wanted: set[int]) -> None:
    ids, asked = np.array(sorted(pieces), np.int64), random_query()
    vectors = random_vectors(len(ids))
    seqs = np.array(sorted(wanted), np.int64)
    exact = {
        seq: max((float(v @ asked) for i, v in zip(ids, vectors, strict=True) if i == seq), default=np.nan)
        for seq in wanted
    }
    np.testing.assert_allclose(
        build_index(ids, vectors).cosines(asked, seqs), [exact[seq] for seq in seqs.tolist()], atol=2e-3
    )


def test_the_codes_find_what_exact_search_finds() -> None:
    """Of the ten nearest of 10,000 lines on 1,000 topics, nine are among 400 candidates by code."""
    random = np.random.default_rng(5)
    matters = random.normal(size=(1000, 384))
    vectors = normalize(matters[random.integers(0, 1000, 10_000)] + 0.8 * random.normal(size=(10_000, 384)))
    built = build_index(np.arange(1, 10_001), vectors)
    shares = []
    for asked in normalize(matters[:40] + 0.8 * random.normal(size=(40, 384))):
        exact = np.argsort(-(vectors @ asked))[:10] + 1
        shares.append(np.isin(exact, built.nearest_ids(asked, 400)).mean())
    assert np.mean(shares) > 0.9


def test_half_precision_is_widened_to_the_last_bit() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)]
    one = np.ones(1, np.float32)
    assert (cosines(finite[:, None], one) == finite.astype(np.float32)).all()


def test_dot_products_of_half_precision_are_those_of_single_precision() -> None:
    data = np.random.default_rng(0).standard_normal((700, 384)).astype(np.float16)
    asked = random_query(dim=384)
    assert (cosines(data, asked) == np.vecdot(data.astype(np.float32), asked)).all()
