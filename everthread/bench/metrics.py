"""Computes metrics of rankings and times. All functions are pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence, Set

KS = (1, 5, 10, 25, 50)  # the cut-offs of every recall table, so that tables can be laid side by side


def recall_at(ranked: Sequence[str], gold: Set[str], k: int) -> float:
    """Return the share of the gold ids among the first k."""
    _require_gold(gold)
    return len(gold & set(ranked[:k])) / len(gold)


def ndcg_at(ranked: Sequence[str], gold: Set[str], k: int) -> float:
    """Return the normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen, 2002).

    An id that occurs twice gains once, at its first rank.
    """
    _require_gold(gold)
    ranks = {id: rank for rank, id in reversed(list(enumerate(ranked[:k], 1)))}
    gain = sum(_discount(ranks[id]) for id in gold if id in ranks)
    return gain / sum(_discount(rank) for rank in range(1, min(k, len(gold)) + 1))


def gold_share(shown: Collection[str], gold: Set[str]) -> float:
    """Return the share of the gold ids among the shown ones."""
    _require_gold(gold)
    return len(gold & set(shown)) / len(gold)


def mean(values: Iterable[float]) -> float:
    """Return the mean, or 0 without values, so that an empty category prints as a number."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else 0.0


def share(values: Iterable[bool]) -> float:
    """Return the share of true values."""
    return mean(float(value) for value in values)


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the value that `percent` per cent of the values don't exceed, interpolated; 0 without values."""
    numbers = sorted(values)
    if not numbers:
        return 0.0
    index = (len(numbers) - 1) * percent / 100
    low, high = numbers[math.floor(index)], numbers[math.ceil(index)]
    return low + (high - low) * (index - math.floor(index))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _require_gold(gold: Set[str]) -> None:
    if not gold:
        raise ValueError("a question without gold can't be scored; leave it out, and count it as skipped")
