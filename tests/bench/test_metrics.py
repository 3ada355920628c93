from __future__ import annotations

import math
from collections.abc import Set

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bench.metrics import gold_share, mean, ndcg_at, percentile, recall_at, share

ids = st.sampled_from("abcdefghijklmnop")
rankings = st.lists(ids, max_size=20)
golds = st.frozensets(ids, min_size=1, max_size=12)
cuts = st.integers(1, 15)


def naive_ndcg(ranked: list[str], gold: Set[str], k: int) -> float:
    """Compute nDCG from its definition, rank by rank, with the best possible order as the ideal."""
    seen: set[str] = set()
    gains = []
    for id in ranked[:k]:
        gains.append(1.0 if id in gold and id not in seen else 0.0)
        seen.add(id)
    best = ([1.0] * len(gold) + [0.0] * k)[:k]
    dcg, ideal = 0.0, 0.0
    for place in range(k):
        dcg += (gains[place] if place < len(gains) else 0.0) / math.log(place + 2, 2)
        ideal += best[place] / math.log(place + 2, 2)
    return dcg / ideal


@given(rankings, golds, cuts)
def test_ndcg_agrees_with_its_definition(ranked: list[str], gold: frozenset[str], k: int) -> None:
    assert ndcg_at(ranked, gold, k) == pytest.approx(naive_ndcg(ranked, gold, k))


@given(rankings, golds, cuts)
def test_recall_counts_gold_ids_once_and_never_falls_with_k(ranked: list[str], gold: frozenset[str], k: int) -> None:
    assert recall_at(ranked, gold, k) == sum(id in ranked[:k] for id in gold) / len(gold)
    assert 0 <= recall_at(ranked, gold, k) <= recall_at(ranked, gold, k + 1) <= 1


@given(golds)
def test_a_perfect_ranking_scores_one(gold: frozenset[str]) -> None:
    ranked = sorted(gold)
    assert ndcg_at(ranked, gold, 10) == pytest.approx(1)
    assert recall_at(ranked, gold, len(gold)) == gold_share(ranked, gold) == 1


def test_a_better_rank_scores_more() -> None:
    assert ndcg_at(["a", "x"], {"a"}, 10) > ndcg_at(["x", "a"], {"a"}, 10) > ndcg_at(["x", "y"], {"a"}, 10) == 0


def test_the_share_of_shown_gold_does_not_depend_on_order() -> None:
    assert gold_share({"b", "a", "x"}, {"a", "c"}) == 0.5


@pytest.mark.parametrize("score", [recall_at, ndcg_at])
def test_a_question_without_gold_is_refused(score: object) -> None:
    assert callable(score)
    with pytest.raises(ValueError, match="without gold"):
        score(["a"], frozenset(), 10)
    with pytest.raises(ValueError, match="without gold"):
        gold_share(["a"], frozenset())


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 100))
def test_percentiles_agree_with_numpy(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), abs=1e-6)


def test_every_figure_of_no_data_is_zero() -> None:
    assert mean([]) == share([]) == percentile([], 50) == 0


def test_a_share_is_the_share_of_true_values() -> None:
    assert share([True, False, False, True]) == 0.5
