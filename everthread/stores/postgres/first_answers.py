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
from everthread.stores.postgres import bank_cache, postings, rows, scoring, vector_index
from everthread.stores.postgres.bank_cache import BankCache, CachedBank, Key
from everthread.stores.postgres.connections import Connection
from everthread.stores.postings import Postings, Records
from everthread.types import Seqs, Vector


class FirstAnswers:
    """Answers from one snapshot of a bank. A method returns None for what was not expected. Not thread-safe."""

    def __init__(self, db: Connection, bank: str, expected: ExpectedReads, cache: BankCache) -> None:
        """Send what is expected.

        Args:
            db: a connection in a transaction, which waits for no answers.
            bank: the bank.
            expected: what is read first.
            cache: the banks in memory. If this one is among them, only what was added to it is read.
        """
        self._expected, self._cache = expected, cache
        terms, vector = expected.terms, expected.vector
        self._stats = rows.send_corpus_stats(db, bank)
        self._postings = (
            postings.send(db, bank, terms, expected.max_terms, expected.max_records) if len(terms) else None
        )
        self._key = find_key(bank, expected)
        self._known = None if self._key is None else cache.get(self._key)
        self._cosines = self._rows = self._changes = None
        if self._key is not None and self._known is not None:
            self._changes = bank_cache.send_changes(db, self._key, self._known)
            return
        if vector is not None and vector.ndim == 1:
            self._cosines = vector_index.send_all_cosines(db, bank, expected.model, vector)
        if expected.small:
            self._rows = scoring.send_all_rows(db, bank, expected.small)

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

    @cached_property
    def _bank(self) -> CachedBank | None:
        """The bank in memory, brought up to date; None if it isn't there."""
        last = self.corpus_stats.last_seq
        if self._key is None:
            return None
        if self._known is None or self._changes is None:
            self._cache.note(self._key, last)
            return None
        if not last:  # it was forgotten
            self._cache.drop(self._key[0])
            return None
        return self._cache.update(self._key, self._known, self._changes)

    def scoring_rows(self, seqs: Seqs, within: Seqs | None) -> ScoringRows | None:
        """Return the columns of lines, if the bank is small or in memory."""
        if self._bank is not None:
            return self._bank.scoring_rows(seqs, within)
        if within is not None or self._rows is None or not 0 < self.corpus_stats.last_seq <= self._expected.small:
            return None
        return scoring.select_rows(self._all_rows, seqs)

    @cached_property
    def _all_rows(self) -> ScoringRows:
        assert self._rows is not None
        return scoring.parse_rows(self._rows)

    def nearest_seqs(self, model: str, query: Vector, k: int, within: Seqs | None) -> Seqs | None:
        """Return the lines of the k nearest vectors, unless the bank has an index of them and isn't in memory."""
        if self._is_expected(model, query) and self._bank is not None:
            return self._bank.codes.nearest_ids(query, k, within)
        if (known := self._find_cosines(model, query)) is None:
            return None
        seqs, cosines = known
        if within is not None:
            is_allowed = is_member(seqs, within)
            seqs, cosines = seqs[is_allowed], cosines[is_allowed]
        return union(seqs if len(seqs) <= k else seqs[np.argpartition(-cosines, k - 1)[:k]])

    def cosines(self, model: str, query: Vector, seqs: Seqs) -> npt.NDArray[np.float32] | None:
        """Return the cosines of lines, if the bank's vectors are in memory, or it has no index of them."""
        if self._is_expected(model, query) and self._bank is not None and self._bank.codes.data is not None:
            return self._bank.codes.cosines(query, seqs)
        if (known := self._find_cosines(model, query)) is None:
            return None
        found, cosines = known
        is_wanted = is_member(found, seqs)
        return max_by_id(seqs, found[is_wanted], cosines[is_wanted])

    def _find_cosines(self, model: str, query: Vector) -> tuple[Seqs, npt.NDArray[np.float32]] | None:
        return self._all_cosines if self._cosines is not None and self._is_expected(model, query) else None

    def _is_expected(self, model: str, query: Vector) -> bool:
        return self._expected.model == model and self._expected.vector is query

    @cached_property
    def _all_cosines(self) -> tuple[Seqs, npt.NDArray[np.float32]] | None:
        """(V,) the lines of all vectors, ascending, and (V,) their cosines; None if there is an index of them."""
        assert self._cosines is not None
        return vector_index.parse_all_cosines(self._cosines)


def find_key(bank: str, expected: ExpectedReads) -> Key | None:
    """Return the key of a bank in memory; None if no vectors are searched."""
    return None if expected.vector is None else (bank, expected.model, expected.vector.shape[-1])
