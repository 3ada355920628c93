"""The dense index of one bank, in memory: which lines lie nearest to a vector. It knows nothing of files or words.

A vector's sign bits are its code (one bit a dimension, 48 bytes for 384). A query is compared with every code by
counting the bits that differ (Charikar 2002: the share of differing signs of random projections estimates the angle);
the caller rescores the nearest exactly. A bank of a thousand lines is thereby searched exactly, one of a
million in some ten milliseconds, and the index costs 48 bytes a line instead of 1,536.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread.types import Seqs, Vector, Vectors

Codes = npt.NDArray[np.uint64]  # (W, N): one column a vector, W words of 64 bits
Array = npt.NDArray[Any]
RESIDENT = 200_000  # vectors kept whole in memory, in half precision (154 MB at 384 dimensions); beyond, they are read


def encode(vectors: Vectors) -> npt.NDArray[np.uint8]:
    """(N, D) vectors to (N, B) sign codes, B a multiple of 8 bytes."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.pad(bits, ((0, 0), (0, spare))) if spare else bits


def columns(codes: npt.NDArray[np.uint8]) -> Codes:
    """(N, B) codes to (W, N) words: a scan then runs through memory in order."""
    return np.ascontiguousarray(codes.view(np.uint64).T)


@dataclass(frozen=True)
class DenseIndex:
    """An immutable picture of a bank's vectors: safe to search while another thread makes the next one.

    ids ascend; a line of several pieces stands several times.
    """

    ids: Seqs  # (N,)
    codes: Codes  # (W, N)
    data: npt.NDArray[np.float16] | None  # (N, D), while the bank is small

    def extended(self, more: DenseIndex) -> DenseIndex:
        """This index with newer vectors behind its own. Only the newest index of a bank may be extended."""
        data = None if self.data is None or more.data is None else _appended(self.data, more.data, 0)
        ids, codes = _appended(self.ids, more.ids, 0), _appended(self.codes, more.codes, 1)
        if len(more.ids) and len(self.ids) and more.ids[0] <= self.ids[-1]:  # vectors that came late
            order = np.argsort(ids, kind="stable")
            return DenseIndex(ids[order], codes[:, order], None if data is None else data[order])
        return DenseIndex(ids, codes, data)

    def nearest(self, query: Vector, k: int, among: Seqs | None = None) -> Seqs:
        """The ids of at least k nearest vectors by code (more on ties), each once, ascending."""
        ids, codes = self.ids, self.codes
        if among is not None:
            keep = np.flatnonzero(_member(ids, among))
            ids, codes = ids[keep], codes[:, keep]
        if len(ids) > k:
            apart = hamming(codes, columns(encode(query[None, :]))[:, 0])  # (N,)
            # The k-th smallest distance from a histogram: distances are small whole numbers, so no sorting is needed.
            cut = int(np.searchsorted(np.cumsum(np.bincount(apart)), k))
            ids = ids[apart <= cut]
        return np.unique(ids)

    def cosines(self, query: Vector, ids: Seqs) -> npt.NDArray[np.float32]:
        """(C,) the greatest cosine of each id's vectors to the query, NaN where it has none. Needs `data`."""
        assert self.data is not None
        rows = _rows(self.ids, ids)
        return best(ids, self.ids[rows], cosines(self.data[rows], query))


def cosines(data: npt.NDArray[np.float16], query: Vector) -> npt.NDArray[np.float32]:
    """(N,) dot products, row by row: a threaded matrix product wakes more threads than a thousand rows are worth."""
    return np.asarray(np.vecdot(data.astype(np.float32), query), np.float32)


def _rows(ids: Seqs, wanted: Seqs) -> npt.NDArray[np.intp]:
    """Where the wanted ids (ascending) stand among the ids (ascending, repeated), all places of each."""
    first = np.searchsorted(ids, wanted)
    count = np.searchsorted(ids, wanted, "right") - first
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())


def _appended(old: Array, new: Array, axis: int) -> Array:
    """old and new along the axis, written into the spare room behind old where there is some, so that one more line
    in a bank of a million copies nothing."""
    n, total = old.shape[axis], old.shape[axis] + new.shape[axis]
    room = old.base  # room made here, or whatever else old may be a view of
    ours = isinstance(room, np.ndarray) and (room.dtype, room.strides) == (old.dtype, old.strides)
    if room is None or not ours or room.shape[axis] < total:
        shape = list(old.shape)
        shape[axis] = total + total // 4 + 16
        room = np.empty(shape, old.dtype)
        room[(slice(None),) * axis + (slice(0, n),)] = old
    room[(slice(None),) * axis + (slice(n, total),)] = new
    return room[(slice(None),) * axis + (slice(0, total),)]


def hamming(codes: Codes, query: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """(N,) how many bits of each code differ from the query's."""
    apart = np.zeros(codes.shape[1], np.uint16)
    for word, ours in zip(codes, query, strict=True):  # W passes over (N,)
        apart += np.bitwise_count(word ^ ours)
    return apart


def best(wanted: Seqs, ids: Seqs, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(C,) the greatest value of each wanted id (ascending), NaN where it has none."""
    out = np.full(len(wanted), -np.inf, np.float32)
    at = np.searchsorted(wanted, ids)
    at[at == len(wanted)] = 0
    ours = wanted[at] == ids if len(wanted) else np.zeros(len(ids), bool)
    np.maximum.at(out, at[ours], values[ours])
    out[np.isneginf(out)] = np.nan
    return out


def _member(ids: Seqs, among: Seqs) -> npt.NDArray[np.bool_]:
    """(N,) whether each id is in `among` (ascending)."""
    if not len(among):
        return np.zeros(len(ids), bool)
    at = np.minimum(np.searchsorted(among, ids), len(among) - 1)
    return np.asarray(among[at] == ids)
