"""Orders lines so that the best are not all of one group, such as a session. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from everthread.recall.features import Floats
from everthread.stores.arrays import repeat_indexes


def penalize_repeats(scores: Floats, group: npt.NDArray[np.integer], penalty: float) -> Floats:
    """Lower the score of each line by the logarithm of its rank in its group; the best of a group keeps its score.

    Args:
        scores: (C,) the scores.
        group: (C,) a number for the group of each line.
        penalty: of the second line of a group.

    Returns:
        (C,) the new scores.
    """
    return scores - np.float32(penalty) * np.log2(1 + _rank_in_group(group, scores)).astype(np.float32)


def _rank_in_group(group: npt.NDArray[np.integer], scores: Floats) -> npt.NDArray[np.intp]:
    """Return (C,) the number of lines in the same group with a greater score."""
    order = np.lexsort((-scores, group))
    rank = np.empty(len(group), np.intp)
    rank[order] = repeat_indexes(group[order].astype(np.int64))
    return rank
