from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from everthread.errors import ModelError
from everthread.recipes.matching import confidences


class Fixed:
    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        return self.scores


def test_each_text_has_its_probability() -> None:
    assert confidences(Fixed(0.25, 1), "fern?", ["a fern", "a kite"]) == [0.25, 1.0]


@pytest.mark.parametrize("scores", [(0.5,), (0.5, math.nan), (0.5, 0.5, 0.5)])
def test_a_matcher_that_gives_no_number_to_a_text_has_failed(scores: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match="each needs a number"):
        confidences(Fixed(*scores), "fern?", ["a fern", "a kite"])
