"""FirstAnswers: the answers to what a search of a bank is expected to read first.

The questions are sent with the beginning of the transaction, and each answer is read when it is asked for: in one round
trip, where each question by itself would take one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import is_member, max_by_id, union
from everthread.stores.base import CorpusStats, ScoringRows
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.postgres import postings, rows, scoring, vector_index
from everthread.stores.postgres.connections import Connection
from everthread.stores.postings import Postings, Records
from everthread.types import Seqs, Vector


class FirstAnswers:
    """Answers from one snapshot of a bank. A method returns None for what was not expected. Not thread-safe."""

    def __init__(self, db: Connection, bank: str, expected: ExpectedReads) -> None:
        """Send what is expected.

        Args:
            db: a connection in a transaction, which waits for no answers.
            bank: the bank.
            expected: what is read first.
        """
        self._expected = expected
        terms, vector = expected.terms, expected.vector
        self._stats = rows.send_corpus_stats(db, bank)
        self._postings = (
            postings.send(db, bank, terms, expected.max_terms, expected.max_records) if len(terms) else None
        )
        self._cosines = (
            vector_index.send_all_cosines(db, bank, expected.model, vector)
            if vector is not None and vector.ndim == 1
            else None
        )
        self._rows = scoring.send_all_rows(db, bank, expected.small) if expected.small else None

    @cached_property
    def corpus_stats(self) -> CorpusStats:
        """The statistics of the bank."""
        return rows.parse_corpus_stats(self._stats) or CorpusStats(0, 0, 0, 0, 0, ())

    def postings(self, terms: Sequence[str], max_terms: int, limit: int) -> dict[str, Postings] | None:
        """Return the records of terms."""
        asked, expected = (list(terms), max_terms, limit), self._expected
        if self._postings is None or asked != (list(expected.terms), expected.max_terms, expected.max_records):
            return None
        return postings.select(terms, max_terms, limit, *self._parsed_postings)

    @cached_property
    def _parsed_postings(self) -> tuple[dict[str, int], dict[str, Records]]:
        assert self._postings is not None
        return postings.parse(self._postings)

    def scoring_rows(self, seqs: Seqs) -> ScoringRows | None:
        """Return the columns of lines, if the bank is small."""
        if self._rows is None or not 0 < self.corpus_stats.last_seq <= self._expected.small:
            return None
        return scoring.select_rows(self._all_rows, seqs)

    @cached_property
    def _all_rows(self) -> ScoringRows:
        assert self._rows is not None
        return scoring.parse_rows(self._rows)

    def nearest_seqs(self, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs | None:
        """Return the lines of the k nearest vectors, unless the bank has an index of them."""
        if (known := self._find_cosines(model, query)) is None:
            return None
        seqs, cosines = known
        if within is not None:
            is_allowed = is_member(seqs, within)
            seqs, cosines = seqs[is_allowed], cosines[is_allowed]
        return union(seqs if len(seqs) <= k else seqs[np.argpartition(-cosines, k - 1)[:k]])

    def cosines(self, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32] | None:
        """Return the cosines of lines, unless the bank has an index of its vectors."""
        if (known := self._find_cosines(model, query)) is None:
            return None
        found, cosines = known
        is_wanted = is_member(found, seqs)
        return max_by_id(seqs, found[is_wanted], cosines[is_wanted])

    def _find_cosines(self, model: str, query: Vector) -> tuple[Seqs, npt.NDArray[np.float32]] | None:
        is_expected = self._cosines is not None and self._expected.model == model and self._expected.vector is query
        return self._all_cosines if is_expected else None

    @cached_property
    def _all_cosines(self) -> tuple[Seqs, npt.NDArray[np.float32]] | None:
        """(V,) the lines of all vectors, ascending, and (V,) their cosines; None if there is an index of them."""
        assert self._cosines is not None
        return vector_index.parse_all_cosines(self._cosines)
