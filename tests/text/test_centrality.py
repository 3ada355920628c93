from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.centrality import degree_centrality, is_repetition, select_by_mmr, tfidf_cosines

TEXTS = st.lists(st.lists(st.sampled_from(["cat", "dog", "fern", "rain", "7"]), max_size=6), min_size=1, max_size=8)


def expected_cosine(one: list[str], other: list[str], texts: list[list[str]]) -> float:
    """Compute the cosine of two texts' TF-IDF vectors, term by term."""

    def weights(text: list[str]) -> dict[str, float]:
        spread = {term: sum(term in each for each in texts) for term in text}
        return {
            term: (1 + math.log(text.count(term))) * (1 + math.log((1 + len(texts)) / (1 + spread[term])))
            for term in set(text)
        }

    a, b = weights(one), weights(other)
    lengths = math.hypot(*a.values()) * math.hypot(*b.values())
    return sum(a[term] * b[term] for term in set(a) & set(b)) / lengths if lengths else 0.0


@given(TEXTS)
def test_cosines_equal_an_independent_implementation(texts: list[list[str]]) -> None:
    expected = np.array([[expected_cosine(one, other, texts) for other in texts] for one in texts])
    np.testing.assert_allclose(tfidf_cosines(texts), expected, atol=1e-9)


def test_the_text_similar_to_most_others_is_the_most_central() -> None:
    cosines = tfidf_cosines([["dog", "park"], ["dog", "rain"], ["dog", "park", "rain"], ["tax"]])
    central = degree_centrality(cosines)
    assert central.argmax() == 2
    assert central[2] == 1
    assert central[3] == 0


def test_dissimilar_texts_have_no_centrality() -> None:
    assert degree_centrality(tfidf_cosines([["a"], ["b"], []])).tolist() == [0, 0, 0]
    assert degree_centrality(tfidf_cosines([])).tolist() == []


def test_a_repetition_is_selected_after_a_novel_text() -> None:
    cosines = np.array([[1.0, 0.95, 0.0], [0.95, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert select_by_mmr(np.array([1.0, 0.9, 0.6]), cosines, lambda _: True) == [0, 2, 1]


def test_without_weight_for_novelty_only_relevance_counts() -> None:
    cosines = np.array([[1.0, 0.95, 0.0], [0.95, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert select_by_mmr(np.array([1.0, 0.9, 0.6]), cosines, lambda _: True, balance=1) == [0, 1, 2]


def test_a_rejected_text_is_skipped_and_does_not_penalize_similar_ones() -> None:
    cosines = np.array([[1.0, 0.95, 0.0], [0.95, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert select_by_mmr(np.array([1.0, 0.9, 0.6]), cosines, lambda place: place != 0) == [1, 2]


def test_texts_with_most_words_and_all_numbers_in_common_are_repetitions() -> None:
    words = frozenset("we have paid for the blue bike in town".split())
    assert is_repetition(words, words)
    assert is_repetition(words, words - {"in"})
    assert not is_repetition(words, frozenset(list(words)[:4]))
    assert not is_repetition(words | {"20"}, words | {"30"})
    assert not is_repetition(frozenset(), frozenset())
