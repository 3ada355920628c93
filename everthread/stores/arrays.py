"""Arrays that grow at their end, and membership among numbers that ascend. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread.types import Seqs

Array = npt.NDArray[Any]


def appended(old: Array, new: Array, axis: int = 0) -> Array:
    """old and new along the axis, written into the spare room behind old where there is some, so that one more line
    in a bank of a million copies nothing. Only the newest array of a row of them may be appended to."""
    n, total = old.shape[axis], old.shape[axis] + new.shape[axis]
    if not n:
        return new
    room = old.base  # room made here, or whatever else old may be a view of
    ours = isinstance(room, np.ndarray) and (room.dtype, room.strides) == (old.dtype, old.strides)
    if room is None or not ours or room.shape[axis] < total:
        room = _room(old, total, axis)
        _cut(room, 0, n, axis)[:] = old
    _cut(room, n, total, axis)[:] = new
    return _cut(room, 0, total, axis)


def _room(like: Array, total: int, axis: int) -> Array:
    """Room for so many rows and a quarter more. What is never written takes no memory."""
    shape = list(like.shape)
    shape[axis] = total + total // 4 + 16
    return np.empty(shape, like.dtype)


@dataclass(frozen=True, slots=True)
class ArrayPatch:
    """How rows that are held become those that are there: from `first` to before `end`, `count` new ones stand instead.

    The places ascend, and the new rows come in their order.
    """

    places: Sequence[tuple[int, int, int]]  # first, end, count

    def apply(self, old: Array, new: Array, axis: int = 0) -> Array:
        """The rows that are there. Nothing of old is changed, and it is copied only if something stands inside it."""
        if not self.places:
            return old
        if self.places[0][0] == old.shape[axis]:
            return appended(old, new, axis)
        pieces: list[Array] = []
        held = taken = 0
        for first, end, count in self.places:
            pieces += [_cut(old, held, first, axis), _cut(new, taken, taken + count, axis)]
            held, taken = end, taken + count
        pieces.append(_cut(old, held, old.shape[axis], axis))
        total = sum(piece.shape[axis] for piece in pieces)
        return np.concatenate(pieces, axis, out=_cut(_room(old, total, axis), 0, total, axis))


def _cut(rows: Array, first: int, end: int, axis: int) -> Array:
    return rows[(slice(None),) * axis + (slice(first, end),)]


def member(ids: npt.NDArray[np.integer], among: Seqs) -> npt.NDArray[np.bool_]:
    """(N,) whether each id is in `among` (both ascending)."""
    if not len(ids) or not len(among):
        return np.zeros(len(ids), bool)
    there = np.zeros(int(ids[-1]) + 1, bool)
    there[among[: np.searchsorted(among, len(there))]] = True
    return np.asarray(there[ids])


def union(*parts: Seqs) -> Seqs:
    """The distinct numbers of all parts, ascending. np.unique takes ten times as long: it hashes them, then sorts."""
    numbers = np.sort(np.concatenate(parts))
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def distinct(numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """The distinct numbers, ascending; they are small and from 0. Of a million, fifty times as fast as np.unique."""
    return np.flatnonzero(np.bincount(numbers))


def repeats(ids: Seqs) -> Seqs:
    """(N,) how often each id (ascending, repeated) has stood there before."""
    return np.arange(len(ids)) - np.searchsorted(ids, ids)


def places(ids: Seqs, wanted: Seqs) -> npt.NDArray[np.intp]:
    """Where the wanted ids (ascending) stand among the ids (ascending, repeated), all places of each."""
    first = np.searchsorted(ids, wanted)
    count = np.searchsorted(ids, wanted, "right") - first
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())


def max_by_id(wanted: Seqs, ids: Seqs, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Reduce the values of each wanted id to the greatest.

    Args:
        wanted: (C,) ascending.
        ids: (N,) the id of each value; an id may have several.
        values: (N,)

    Returns:
        (C,) the greatest value of each wanted id; NaN where it has none.
    """
    out = np.full(len(wanted), -np.inf, np.float32)
    at = np.searchsorted(wanted, ids)
    at[at == len(wanted)] = 0
    ours = wanted[at] == ids if len(wanted) else np.zeros(len(ids), bool)
    np.maximum.at(out, at[ours], values[ours])
    out[np.isneginf(out)] = np.nan
    return out


def to_ranges(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Convert ascending numbers into the fewest inclusive ranges."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)
