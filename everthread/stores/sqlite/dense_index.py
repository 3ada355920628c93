"""The dense index of one bank, in memory: which lines lie nearest to a vector. It knows nothing of files or words.

A vector's sign bits are its code (one bit a dimension, 48 bytes for 384). A query is compared with every code by
counting the bits that differ (Charikar 2002: the share of differing signs of random projections estimates the angle);
the caller rescores the nearest exactly. A bank of a thousand lines is thereby searched exactly, one of a
million in some ten milliseconds, and the index costs 48 bytes a line instead of 1,536.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import ArrayPatch, max_by_id, member, places, union
from everthread.types import Seqs, Vector, Vectors

Codes = npt.NDArray[np.uint64]  # (W, N): one column a vector, W words of 64 bits
MAX_RESIDENT_VECTORS = (
    200_000  # vectors kept whole in memory, in half precision (154 MB at 384 dimensions); beyond, they are read
)
STRETCH = 16_384  # codes compared at a time
WIDENED = 256  # vectors made single precision at a time
GATHER = 8  # where fewer than one code in so many is allowed, gathering them is quicker than passing over all


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

    @classmethod
    def empty(cls, dim: int) -> DenseIndex:
        """The index of no vectors."""
        return cls(np.empty(0, np.int64), columns(encode(np.empty((0, dim), np.float32))), None)

    def newer(self, splices: ArrayPatch, more: DenseIndex) -> DenseIndex:
        """The index after some vectors have changed. Only the newest index of a bank may be made newer."""
        data = None if self.data is None or more.data is None else splices.apply(self.data, more.data)
        return DenseIndex(splices.apply(self.ids, more.ids), splices.apply(self.codes, more.codes, 1), data)

    def nearest(self, query: Vector, k: int, among: Seqs | None = None) -> Seqs:
        """The ids of at least k nearest vectors by code (more on ties), each once, ascending."""
        ids, codes = self.ids, self.codes
        keep = None if among is None else np.flatnonzero(member(ids, among))
        few = keep is not None and len(keep) * GATHER < len(ids)
        if keep is not None:
            ids, codes = ids[keep], codes[:, keep] if few else codes
        if len(ids) > k:
            asked = columns(encode(np.atleast_2d(query)))  # (W, Q)
            apart = reduce(np.minimum, [hamming(codes, each) for each in asked.T])  # (N,)
            apart = apart if keep is None or few else apart[keep]
            ids = ids[apart <= np.partition(apart, k - 1)[k - 1]]
        return union(ids)

    def cosines(self, query: Vector, ids: Seqs) -> npt.NDArray[np.float32]:
        """(C,) the greatest cosine of each id's vectors to the query, NaN where it has none. Needs `data`."""
        assert self.data is not None
        rows = places(self.ids, ids)
        return max_by_id(ids, self.ids[rows], cosines(self.data[rows], query))


def cosines(data: npt.NDArray[np.float16], query: Vector) -> npt.NDArray[np.float32]:
    """(N,) dot products, of a query that has several vectors the greatest; row by row: a threaded matrix product wakes
    more threads than a thousand rows are worth.

    Half precision is widened by shifting its bits into their places, which leaves every number 2**112 times too small,
    the query's being made as much greater: to the last bit what `astype` gives, in a third of the time.
    """
    if query.ndim > 1:
        return reduce(np.maximum, [cosines(data, each) for each in query])
    out = np.empty(len(data), np.float32)
    scaled = query * np.float32(2.0**112)
    for start in range(0, len(data), WIDENED):  # no more than stays in the processor's cache
        wide = data[start : start + WIDENED].view(np.int16).astype(np.int32)
        wide <<= 13
        wide &= ~0x70000000  # where the sign was spread
        np.vecdot(wide.view(np.float32), scaled, out=out[start : start + WIDENED])
    return out


def hamming(codes: Codes, query: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """(N,) how many bits of each code differ from the query's. Stretch by stretch, so that what lies between stays in
    the processor's cache: twice as fast."""
    apart = np.zeros(codes.shape[1], np.uint16)
    for start in range(0, len(apart), STRETCH):
        here = apart[start : start + STRETCH]
        for word, ours in zip(codes[:, start : start + STRETCH], query, strict=True):
            here += np.bitwise_count(word ^ ours)
    return apart
