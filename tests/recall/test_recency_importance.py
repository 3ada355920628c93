from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from everthread.errors import BadInput
from everthread.recall.recency_importance import ScoreWeights

DAY = timedelta(days=1)


def test_by_default_the_score_is_the_relevance() -> None:
    assert ScoreWeights().score(0.7, DAY, 9) == 0.7


@pytest.mark.parametrize(("days", "exponential", "inverse"), [(0, 1, 1), (2, 0.5, 0.5), (4, 0.25, 1 / 3), (-3, 1, 1)])
def test_recency_is_one_half_at_the_half_life(days: int, exponential: float, inverse: float) -> None:
    by_halves = ScoreWeights(0, recency=1, half_life=2 * DAY)
    slower = ScoreWeights(0, recency=1, half_life=2 * DAY, decay="inverse")
    assert by_halves.score(0.7, days * DAY, None) == pytest.approx(exponential)
    assert slower.score(0.7, days * DAY, None) == pytest.approx(inverse)


@pytest.mark.parametrize(("importance", "expected"), [(1, 0.0), (10, 1.0), (4, 1 / 3), (None, 0.0)])
def test_importance_is_scaled_to_0_to_1(importance: int | None, expected: float) -> None:
    assert ScoreWeights(0, importance=1).score(0.7, None, importance) == pytest.approx(expected)


def test_relevance_recency_and_importance_are_added_with_their_weights() -> None:
    weighing = ScoreWeights(1, recency=2, importance=3, half_life=DAY)
    assert weighing.score(0.5, DAY, 10) == pytest.approx(0.5 + 2 * 0.5 + 3)
    assert weighing.score(0.5, None, None) == 0.5


@pytest.mark.parametrize(
    ("given", "complaint"),
    [({"half_life": timedelta(0)}, "invalid half-life 0:00:00"), ({"decay": "linear"}, "unknown decay 'linear'")],
)
def test_invalid_score_weights_are_rejected(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        ScoreWeights(**given)
