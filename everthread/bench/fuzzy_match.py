"""How much of a fact stands in a passage: goodai-ltm's measure, by the edit distance of tokens. Pure.

score = 100 · (1 − d / n), n the tokens of the fact, d the least Levenshtein distance (1966) from the fact to a window
of n tokens of the passage. Where the passage is the shorter one, all of it is the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

_ALIKE = frozenset((",", "!", ";", "..", "...", "!!", "!!!"))


def normalize_tokens(tokens: Iterable[str]) -> tuple[str, ...]:
    """Tokens as they are compared: lower-cased, one mark for the pausing ones, none at the end."""
    found = ["." if token in _ALIKE else token.lower() for token in tokens]
    return tuple(found[:-1] if found[-1:] == ["."] else found)


def contains_fact(fact: Sequence[str], passage: Sequence[str], threshold: float) -> bool:
    """Whether the passage scores at least threshold for the fact, from 0 to 100. Of an empty fact nothing stands.

    Windows with too few of the fact's tokens are passed over, for each missing one is an edit; the others are compared
    no farther than the distance that is allowed.
    """
    if not fact:
        return threshold <= 0
    allowed = next(d for d in range(len(fact), -2, -1) if d < 0 or 100 * (1 - d / len(fact)) >= threshold)
    return any(edit_distance(window, fact, allowed) <= allowed for window in _windows(fact, passage, allowed))


def _windows(fact: Sequence[str], passage: Sequence[str], allowed: int) -> Iterator[Sequence[str]]:
    size = len(fact)
    if size >= len(passage):
        yield passage
        return
    lacking = Counter(fact)  # below zero: the window has more of it than the fact
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
    """The Levenshtein distance, or some number above `allowed` where it is more than that.

    Only the cells within `allowed` of the diagonal are filled: what lies farther off costs more (Ukkonen 1985).
    """
    beyond = allowed + 1
    if abs(len(one) - len(other)) > allowed:
        return beyond
    before = [min(column, beyond) for column in range(len(other) + 1)]
    for row, token in enumerate(one, 1):
        first, last = max(1, row - allowed), min(len(other), row + allowed)
        now = [beyond] * (len(other) + 1)
        if row <= allowed:
            now[0] = row
        for column in range(first, last + 1):
            change = before[column - 1] + (token != other[column - 1])
            now[column] = min(change, before[column] + 1, now[column - 1] + 1, beyond)
        if min(now[first - 1 : last + 1]) >= beyond:
            return beyond
        before = now
    return before[-1]
