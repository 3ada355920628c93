"""Counts at which distances two sequences of texts have equal ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

PlacedTexts = Iterable[tuple[int, str]]  # positions in a sequence, and the texts there


def count_offsets(ours: PlacedTexts, theirs: PlacedTexts) -> Counter[int]:
    """Count the equal texts of two sequences at each distance at which there is one.

    A text that each of them has often is not compared pair by pair: "ok" a thousand times in both has a million pairs.

    Args:
        ours: one sequence.
        theirs: the other.

    Returns:
        The counts by our position minus theirs.
    """
    places, other_places = _group(ours), _group(theirs)
    length = 1 + max((found[-1] for found in (*places.values(), *other_places.values())), default=0)
    counts: Counter[int] = Counter()
    for text, others in other_places.items():
        found = places.get(text, [])
        if len(found) * len(others) <= length:
            for place in found:
                for other in others:
                    counts[place - other] += 1
        else:
            counts.update(_correlate(found, others, length))
    return counts


def _group(texts: PlacedTexts) -> dict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, text in texts:
        places[text].append(place)
    return places


def _correlate(places: list[int], others: list[int], length: int) -> dict[int, int]:
    """Count the pairs of two lists of positions by their distances; `length` is above every position."""
    size = 1 << (2 * length - 1).bit_length()
    ours, theirs = np.zeros(size), np.zeros(size)
    ours[places], theirs[others] = 1, 1
    product = np.fft.irfft(np.fft.rfft(ours) * np.conj(np.fft.rfft(theirs)), size)
    pairs = np.rint(product).astype(int)
    found = np.flatnonzero(pairs)
    distances = np.where(found < length, found, found - size)
    return dict(zip(distances.tolist(), pairs[found].tolist(), strict=True))
