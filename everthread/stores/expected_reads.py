"""ExpectedReads: what a search is expected to read first, so that a store can read it together, in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everthread.types import Vector


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedReads:
    """The first reads of a search, which are a store's to answer together. Other reads are answered one by one.

    Attributes:
        model: the name of the embedder whose vectors will be compared.
        vector: the (D,) or (Q, D) query of `nearest_seqs` and `cosines`; None: no vectors will be compared.
        terms: the terms of `postings`; empty: others, or none.
        max_terms: of `postings`.
        max_records: the limit of `postings`.
        small: of a bank with at most this many lines every line will be scored, and of a larger one the nearest.
    """

    model: str
    vector: Vector | None
    terms: Sequence[str] = ()
    max_terms: int = 0
    max_records: int = 0
    small: int = 0
