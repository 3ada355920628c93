"""BankReader: read access to one bank, for recipes, recall from several banks, and benchmarks.

A reader runs the stages of recall that need the store. It writes nothing except the vectors of pending lines; a recipe
writes a session's relevance buffer through the reader's store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from everthread.bank.embedding_backlog import EmbeddingBacklog
from everthread.common.deadline import Deadline
from everthread.embedders.encoder import Encoder
from everthread.recall import passages, unit_search
from everthread.recall.asked_question import AskedQuestion, NotEmbedded
from everthread.recall.candidate_reader import BestMeasures, CandidateReader, KnownSpeakers
from everthread.recall.candidates import DENSE_CANDIDATES, Candidates
from everthread.recall.features import Signals
from everthread.recall.learned_names import learn_names
from everthread.recall.query_parsing import ParsedQuery, parse_query
from everthread.recall.spelling_correction import correct_query
from everthread.recall.types import Query, RankedLines, ScoredLine, SearchResult
from everthread.recall.unit_search import ScoredUnit
from everthread.stores.base import CorpusStats, Store
from everthread.stores.expected_reads import ExpectedReads
from everthread.stores.unit_store import UnitKey
from everthread.text import refusal_words
from everthread.types import Filter, FoundUnit, Hit, Line, Seqs, Unit, Vector, now

Result = TypeVar("Result")


class BankReader:
    """Reads one bank. Thread-safe."""

    def __init__(
        self,
        store: Store,
        bank: str,
        encoder: Encoder,
        backlog: EmbeddingBacklog | None = None,
        deadline: Deadline | None = None,
        speakers: KnownSpeakers | None = None,
    ) -> None:
        """Read a bank.

        Args:
            store: the store that holds the bank.
            bank: the bank's id; the bank must exist.
            encoder: embeds queries.
            backlog: the pending lines; None: no line is embedded.
            deadline: the time for models; None: as long as they take.
            speakers: the names of the speakers, if another reader of this bank has read them.
        """
        self.store, self.bank, self._backlog, self.deadline = store, bank, backlog, deadline
        self.encoder = encoder if deadline is None else encoder.within(deadline)
        self._speakers = KnownSpeakers() if speakers is None else speakers
        self._candidates = CandidateReader(store, bank, self.encoder, self._speakers)

    def for_bank(self, bank: str, encoder: Encoder) -> BankReader:
        """Return a reader of this bank, or of another one in the same store, with another encoder.

        It does not embed pending lines of another bank.
        """
        return BankReader(self.store, bank, encoder, self._backlog if bank == self.bank else None, self.deadline)

    def within(self, seconds: float | None) -> BankReader:
        """Return a reader that calls models within this time from now, and embeds no pending lines; None: this one."""
        if seconds is None:
            return self
        return BankReader(self.store, self.bank, self.encoder, self._backlog, Deadline(seconds), self._speakers)

    def call_model(self, function: Callable[[], Result], otherwise: Result) -> Result:
        """Return the result of a function that calls a model; `otherwise` if the deadline does not allow it."""
        return function() if self.deadline is None else self.deadline.call(function, otherwise)

    def embed_pending(self, exclude: Collection[int] = ()) -> None:
        """Embed the pending lines, once per query, before the search. With a deadline, they stay pending.

        Args:
            exclude: numbers of lines that the query can't find; they may stay pending.
        """
        if self._backlog is None:
            return
        if self.deadline is None:
            self._backlog.embed_pending(exclude)
        elif self._backlog.has_pending(exclude):
            self.deadline.missed = True

    @property
    def refusal_words(self) -> refusal_words.RefusalWords:
        """The dictionary by which replies count as refusals."""
        return refusal_words.load(self._refusals_path)

    @cached_property
    def _refusals_path(self) -> Path:
        """The configured path of the user's words; cached, since every reply needs it."""
        return refusal_words.configured_path()

    # -------------------------------------------------------------------- lines

    def allowed_seqs(self, query: Query) -> Seqs | None:
        """Return the (N,) numbers of the lines that a query may find, ascending; None: all lines."""
        return self.store.filter_seqs(self.bank, query.where or Filter(), query.as_of)

    def get_visible(self, seqs: Sequence[int], allowed: Seqs | None) -> list[Line]:
        """Read lines, without those that may not be shown.

        Args:
            seqs: numbers of lines; missing ones are ignored.
            allowed: the numbers of the lines that may be shown, ascending; None: all lines.
        """
        return self.store.get(self.bank, self._drop_hidden(seqs, allowed))

    def _drop_hidden(self, seqs: Sequence[int], allowed: Seqs | None) -> list[int]:
        """Return the numbers of those of these lines that may be shown."""
        if allowed is None:
            return list(seqs)
        numbers = np.asarray(seqs, np.int64)
        is_allowed = np.append(allowed, 0)[np.searchsorted(allowed, numbers)] == numbers
        return [int(seq) for seq in numbers[is_allowed]]

    def corpus_stats(self, visible: Seqs | None = None) -> CorpusStats:
        """Return the statistics of the bank, or of some of its lines."""
        return self.store.corpus_stats(self.bank, visible)

    def begin_query(self, text: str) -> None:
        """Begin to embed a query that will be searched for, with its spelling corrected."""
        names = self.store.corpus_stats(self.bank).names
        text = self.correct_spelling(Query(text)).text
        self.encoder.begin_query(self._parse(text, names, now().astimezone()).embedding_text)

    def correct_spelling(self, query: Query) -> Query:
        """Return a query with the spelling of its words corrected by those of the bank (`spelling_correction`)."""
        return correct_query(self.store, self.bank, query)

    def _parse(self, text: str, speakers: Sequence[str], clock: datetime, visible: Seqs | None = None) -> ParsedQuery:
        """Parse a query, in which speakers may have other names than their own."""
        return parse_query(text, speakers, clock, learn_names(self.store, self.bank, text, speakers, visible))

    def search(self, query: Query, width: int, rank: Callable[[CandidateReader], RankedLines]) -> SearchResult:
        """Search the bank as it is at one moment, in one transaction, in which no model is called.

        Args:
            query: the query.
            width: neighbours of each hit on either side, within the session.
            rank: chooses lines by the candidates that it reads. It may be called again.
        """
        asked = AskedQuestion(query.text, query.as_of or now().astimezone(), self.encoder)
        is_filtered = query.where is not None or query.as_of is not None

        def read(store: Store) -> tuple[RankedLines, list[int]]:
            ranked = rank(CandidateReader(store, self.bank, self.encoder, self._speakers, asked))
            seqs = passages.neighbour_seqs((line.seq for line in ranked.lines), width, query.exclude)
            return ranked, self._drop_hidden(seqs, ranked.result.allowed)

        expected = ExpectedReads(self.encoder.name, None)
        if (names := self._speakers.names) is not None and not asked.find_unknown_names(names):
            expected = asked.expect(asked.parse(names, {}), is_filtered)
        while True:
            try:
                ranked, lines = self.store.read_snapshot(self.bank, read, expected)
                break
            except NotEmbedded as error:
                expected = asked.expect(error.parsed, is_filtered)
        hits = passages.build_hits(ranked.lines, width, self._read_after(lines, ranked.result.allowed), query.exclude)
        return replace(ranked.result, hits=hits)

    def _read_after(self, lines: list[Line], allowed: Seqs | None) -> Callable[[Sequence[int]], list[Line]]:
        """Return a function that reads lines: first these, which have been read."""
        known = [lines]
        return lambda seqs: known.pop() if known else self.get_visible(seqs, allowed)

    def measure_candidates(self, query: Query, k: int = 0) -> tuple[Candidates, Signals]:
        """Find the lines that may answer a query, and compute their signals, as `CandidateReader` does."""
        return self._candidates.measure_candidates(query, k)

    def measure_best(self, candidates: Candidates, signals: Signals, names: Collection[str]) -> BestMeasures:
        """Measure the best candidates by their texts, as `CandidateReader` does."""
        return self._candidates.measure_best(candidates, signals, names)

    def find_nearest(self, query: Query, k: int) -> list[tuple[int, float]]:
        """Find the lines nearest in meaning to a query: approximately first, then by exact cosines.

        Args:
            query: the query; its text is embedded unchanged.
            k: lines at most.

        Returns:
            Number and calibrated cosine of the lines, nearest first; empty while the embedder is down.
        """
        if (vector := self.encoder.try_embed_query(query.text)) is None:
            return []
        model = self.encoder.name
        limit = max(k + len(query.exclude), DENSE_CANDIDATES)
        seqs = self.store.nearest_seqs(self.bank, model, vector, limit, self.allowed_seqs(query))
        seqs = seqs[~np.isin(seqs, list(query.exclude))]
        cosines = self.encoder.calibrate(self.store.cosines(self.bank, model, vector, seqs))
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(seqs[index]), float(cosines[index])) for index in best if not np.isnan(cosines[index])]

    def read_hits(
        self, ranked: Sequence[ScoredLine], width: int, allowed: Seqs | None, exclude: Collection[int] = ()
    ) -> list[Hit]:
        """Read chosen lines, each among its neighbours.

        Args:
            ranked: the chosen lines, best first.
            width: neighbours on either side, within the session.
            allowed: the numbers of the lines that may be shown, ascending; None: all lines.
            exclude: numbers of lines not to be shown as neighbours.
        """
        return passages.build_hits(ranked, width, lambda seqs: self.get_visible(seqs, allowed), exclude)

    # -------------------------------------------------------------------- units

    def units(self, *kinds: str) -> list[Unit]:
        """Return the units of these kinds that are not retracted, by kind and id."""
        return self.store.units(self.bank, kinds)

    def search_units(self, query: Query, kinds: tuple[str, ...], k: int) -> SearchResult:
        """Find the units that are most relevant to a query, by their cosines and by shared terms.

        Args:
            query: the query.
            kinds: the kinds of units to search.
            k: units at most.
        """
        text, where, as_of = query.text, query.where or Filter(), query.as_of
        visible = None if as_of is None else self.store.filter_seqs(self.bank, Filter(), as_of)
        names = self.store.corpus_stats(self.bank).names
        parsed = self._parse(text, names, as_of or now().astimezone(), visible)
        vector = self.encoder.try_embed_query(parsed.embedding_text) if text.strip() else None
        units = unit_search.filter_units(self.units(*kinds), where, as_of) if text.strip() else []
        cosines = {} if vector is None else self.unit_cosines(vector, kinds)
        hits = self.build_unit_hits(unit_search.rank_units(parsed, units, cosines, k))
        relevance = max((hit.relevance for hit in hits), default=0.0)
        passes = not parsed.is_small_talk and any(hit.score >= unit_search.MIN_UNIT_SCORE for hit in hits)
        no_lines = np.empty(0, np.int64)
        return SearchResult(hits, relevance, passes, parsed.terms, allowed=no_lines)

    def unit_cosines(self, vector: Vector, kinds: Sequence[str]) -> dict[UnitKey, float]:
        """Return the calibrated cosine of each unit of these kinds to a query's vector, by kind and id."""
        rows = self.store.unit_cosines(self.bank, self.encoder.name, vector, kinds)
        values = self.encoder.calibrate(np.array([cosine for *_, cosine in rows], np.float32)).tolist()
        return {(kind, number): value for (kind, number, _), value in zip(rows, values, strict=True)}

    def build_unit_hits(self, chosen: Sequence[ScoredUnit]) -> list[Hit]:
        """Build the hits of chosen units, each with the session of the last line that the unit derives from."""
        seqs = [scored.unit.last_seq for scored in chosen]
        sessions = {line.seq: line.session for line in self.store.get(self.bank, seqs)}
        return [
            Hit(FoundUnit(unit, sessions.get(unit.last_seq, ""), unit.kind), score, relevance, signals)
            for unit, score, relevance, signals in chosen
        ]
