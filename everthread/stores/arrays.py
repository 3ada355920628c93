"""Arrays that grow at their end, and set operations on ascending numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread.types import Seqs

Array = npt.NDArray[Any]


def append_rows(old: Array, new: Array, axis: int = 0) -> Array:
    """Append rows along an axis, into the spare capacity after `old` if there is enough.

    One more line in a bank of a million then copies nothing. Only the newest of the arrays that share a buffer may be
    appended to.
    """
    n, total = old.shape[axis], old.shape[axis] + new.shape[axis]
    if not n:
        return new
    buffer = old.base  # a buffer allocated here, or another array of which old is a view
    is_compatible = isinstance(buffer, np.ndarray) and (buffer.dtype, buffer.strides) == (old.dtype, old.strides)
    if buffer is None or not is_compatible or buffer.shape[axis] < total:
        buffer = _allocate(old, total, axis)
        _slice(buffer, 0, n, axis)[:] = old
    _slice(buffer, n, total, axis)[:] = new
    return _slice(buffer, 0, total, axis)


def _allocate(like: Array, total: int, axis: int) -> Array:
    """Allocate a buffer for `total` rows and a quarter more. Pages that are never written take no memory."""
    shape = list(like.shape)
    shape[axis] = total + total // 4 + 16
    return np.empty(shape, like.dtype)


@dataclass(frozen=True, slots=True)
class ArrayPatch:
    """Edits that bring cached rows up to date.

    Each edit (first, end, count) replaces the rows from `first` to before `end` by the next `count` new rows. Edits
    ascend.
    """

    edits: Sequence[tuple[int, int, int]]

    def apply(self, old: Array, new: Array, axis: int = 0) -> Array:
        """Return the patched rows. `old` is not changed, and copied only if an edit is not at its end."""
        if not self.edits:
            return old
        if self.edits[0][0] == old.shape[axis]:
            return append_rows(old, new, axis)
        pieces: list[Array] = []
        old_start = new_start = 0
        for first, end, count in self.edits:
            pieces += [_slice(old, old_start, first, axis), _slice(new, new_start, new_start + count, axis)]
            old_start, new_start = end, new_start + count
        pieces.append(_slice(old, old_start, old.shape[axis], axis))
        total = sum(piece.shape[axis] for piece in pieces)
        return np.concatenate(pieces, axis, out=_slice(_allocate(old, total, axis), 0, total, axis))


def _slice(rows: Array, first: int, end: int, axis: int) -> Array:
    return rows[(slice(None),) * axis + (slice(first, end),)]


def is_member(ids: npt.NDArray[np.integer], within: Seqs) -> npt.NDArray[np.bool_]:
    """Return (N,) whether each id is in `within`; both ascend."""
    if not len(ids) or not len(within):
        return np.zeros(len(ids), bool)
    is_allowed = np.zeros(int(ids[-1]) + 1, bool)  # by id
    is_allowed[within[: np.searchsorted(within, len(is_allowed))]] = True
    return np.asarray(is_allowed[ids])


def take_records(records: Array, positions: npt.NDArray[np.intp]) -> Array:
    """Return the records of a structured array at these positions: 20 times as fast as indexing it."""
    return np.take(records, positions)


def union(*parts: Seqs) -> Seqs:
    """Return the distinct numbers of all parts, ascending.

    Ten times as fast as np.unique, which hashes before it sorts.
    """
    numbers = np.sort(np.concatenate(parts))
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def distinct_small(numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Return the distinct numbers, ascending; for small numbers from 0.

    For a million, 50 times as fast as np.unique.
    """
    return np.flatnonzero(np.bincount(numbers))


def repeat_indexes(ids: Seqs) -> Seqs:
    """Return (N,) the number of earlier occurrences of each id (ascending, repeated)."""
    return np.arange(len(ids)) - np.searchsorted(ids, ids)


def find_positions(ids: Seqs, wanted: Seqs) -> npt.NDArray[np.intp]:
    """Return all positions of the wanted ids (ascending) in `ids` (ascending, repeated)."""
    first = np.searchsorted(ids, wanted)
    count = np.searchsorted(ids, wanted, "right") - first
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())


def find_greatest(values: npt.NDArray[np.floating], k: int) -> npt.NDArray[np.intp]:
    """Return the positions of the k greatest values, or of all if there are fewer: the greatest first, equal ones in
    order. None may be NaN.

    Five times as fast as sorting a thousand values.
    """
    if len(values) <= k:
        return np.argsort(-values, kind="stable")
    candidates = np.flatnonzero(values >= np.partition(values, -k)[-k])
    return candidates[np.argsort(-values[candidates], kind="stable")][:k]


def max_by_id(wanted: Seqs, ids: Seqs, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Reduce the values of each wanted id to the greatest.

    Args:
        wanted: (C,) ascending.
        ids: (N,) the id of each value; an id may have several.
        values: (N,)

    Returns:
        (C,) the greatest value of each wanted id; NaN where it has none.
    """
    greatest = np.full(len(wanted), np.nan, np.float32)
    if len(wanted):
        positions = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
        is_wanted = wanted[positions] == ids
        np.fmax.at(greatest, positions[is_wanted], values[is_wanted])  # of NaN and a number the number
    return greatest


def to_ranges(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Convert ascending numbers into the fewest inclusive ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)
