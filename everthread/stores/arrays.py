"""Arrays that grow at their end, and membership among numbers that ascend. Pure."""

from __future__ import annotations

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
        shape = list(old.shape)
        shape[axis] = total + total // 4 + 16
        room = np.empty(shape, old.dtype)
        room[(slice(None),) * axis + (slice(0, n),)] = old
    room[(slice(None),) * axis + (slice(n, total),)] = new
    return room[(slice(None),) * axis + (slice(0, total),)]


def ascending(ids: npt.NDArray[np.integer]) -> bool:
    """Whether no id is smaller than the one before it."""
    return bool((ids[1:] >= ids[:-1]).all())


def member(ids: npt.NDArray[np.integer], among: Seqs) -> npt.NDArray[np.bool_]:
    """(N,) whether each id is in `among` (both ascending)."""
    if not len(ids) or not len(among):
        return np.zeros(len(ids), bool)
    there = np.zeros(int(ids[-1]) + 1, bool)
    there[among[: np.searchsorted(among, len(there))]] = True
    return np.asarray(there[ids])


def repeats(ids: Seqs) -> Seqs:
    """(N,) how often each id (ascending, repeated) has stood there before."""
    return np.arange(len(ids)) - np.searchsorted(ids, ids)


def places(ids: Seqs, wanted: Seqs) -> npt.NDArray[np.intp]:
    """Where the wanted ids (ascending) stand among the ids (ascending, repeated), all places of each."""
    first = np.searchsorted(ids, wanted)
    count = np.searchsorted(ids, wanted, "right") - first
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
