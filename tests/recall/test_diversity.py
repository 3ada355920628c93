from __future__ import annotations

import numpy as np
import pytest

from everthread.recall.diversity import penalize_repeats


def test_the_best_of_each_group_keeps_its_score_and_the_others_lose_by_their_rank() -> None:
    scores = np.array([5, 4, 3, 2, 1], np.float32)
    found = penalize_repeats(scores, np.array([7, 7, 2, 7, 7]), 1.0)
    assert found.tolist() == pytest.approx([5, 3, 3, 2 - np.log2(3), -1])


def test_without_lines_there_is_nothing_to_penalise() -> None:
    assert len(penalize_repeats(np.empty(0, np.float32), np.empty(0, np.int64), 1.0)) == 0
