"""Scores how much of a fact a passage contains: goodai-ltm's measure, by the edit distance of tokens. Pure.

score = 100 · (1 − d / n), with n the number of tokens of the fact and d the minimum edit distance (Levenshtein 1966)
between the fact and a window of n tokens of the passage. A shorter passage is itself the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

_PAUSES = frozenset((",", "!", ";", "..", "...", "!!", "!!!"))


def normalize_tokens(tokens: Iterable[str]) -> tuple[str, ...]:
    """Normalise tokens for comparison: lower case, one mark for pauses, no final mark."""
    normalized = ["." if token in _PAUSES else token.lower() for token in tokens]
    return tuple(normalized[:-1] if normalized[-1:] == ["."] else normalized)


def contains_fact(fact: Sequence[str], passage: Sequence[str], threshold: float) -> bool:
    """Return whether the passage scores at least `threshold` (0..100) for the fact; an empty fact scores 0.

    Windows that lack too many of the fact's tokens are skipped, because each missing one is an edit; the others are
    compared up to the allowed distance.
    """
    if not fact:
        return threshold <= 0
    allowed = next(d for d in range(len(fact), -2, -1) if d < 0 or 100 * (1 - d / len(fact)) >= threshold)
    return any(edit_distance(window, fact, allowed) <= allowed for window in _list_windows(fact, passage, allowed))


def _list_windows(fact: Sequence[str], passage: Sequence[str], allowed: int) -> Iterator[Sequence[str]]:
    size = len(fact)
    if size >= len(passage):
        yield passage
        return
    lacking = Counter(fact)  # negative if the window has more of the token than the fact
    lacking.subtract(passage[: size - 1])
    missing = sum(count for count in lacking.values() if count > 0)
    for start, token in enumerate(passage[size - 1 :]):
        missing -= lacking[token] > 0
        lacking[token] -= 1
        if missing <= allowed:
            yield passage[start : start + size]
        first = passage[start]
        missing += lacking[first] >= 0
        lacking[first] += 1


def edit_distance(one: Sequence[str], other: Sequence[str], allowed: int) -> int:
    """Return the Levenshtein distance, or a number above `allowed` if it is greater than that.

    Only the cells within `allowed` of the diagonal are filled, because all others cost more (Ukkonen 1985).
    """
    beyond = allowed + 1
    if abs(len(one) - len(other)) > allowed:
        return beyond
    previous = [min(column, beyond) for column in range(len(other) + 1)]
    for row, token in enumerate(one, 1):
        first, last = max(1, row - allowed), min(len(other), row + allowed)
        current = [beyond] * (len(other) + 1)
        if row <= allowed:
            current[0] = row
        for column in range(first, last + 1):
            change = previous[column - 1] + (token != other[column - 1])
            current[column] = min(change, previous[column] + 1, current[column - 1] + 1, beyond)
        if min(current[first - 1 : last + 1]) >= beyond:
            return beyond
        previous = current
    return previous[-1]
