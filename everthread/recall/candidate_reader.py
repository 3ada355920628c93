"""CandidateReader: reads and measures the lines that may answer a question.

A search reads a bank in one transaction, in which no model is called: the question was embedded before.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everthread.embedders.encoder import Encoder
from everthread.recall import features, statements, time_overview, token_match
from everthread.recall.asked_question import AskedQuestion
from everthread.recall.candidates import Candidates, find_candidates
from everthread.recall.line_restrictions import LineRestrictions
from everthread.recall.query_parsing import ParsedQuery
from everthread.recall.token_match import WeightedTokens
from everthread.recall.types import Query
from everthread.stores.arrays import is_member, union
from everthread.stores.base import Store
from everthread.types import Filter, Seqs, now

log = logging.getLogger("everthread")

UNREAD: tuple[int, str, bytes | None] = 0, "", None  # in place of a line that is gone
UNEMBEDDED_WARNING = (
    "a bank has no vectors of %s: lines are found by keyword only; run reindex with a recipe that embeds lines, "
    "or open the bank with its old embedder"
)


class BestMeasures(NamedTuple):
    """Measurements by the texts of the best candidates, and by the codes of their words.

    Attributes:
        signals: all signals of all C candidates.
        unmatched: the share of the question's words that are unmatched (`WordComparison`).
        text_groups: (C,) for each candidate the index of the first one with the same speaker and text; None if no two
            that were read have the same text.
    """

    signals: features.Signals
    unmatched: float
    text_groups: npt.NDArray[np.intp] | None


@dataclass(slots=True)
class KnownSpeakers:
    """The names of a bank's speakers as a question read them last; None before the first one.

    The next question is embedded by them before the bank is read.
    """

    names: tuple[str, ...] | None = None


class CandidateReader:
    """Reads the candidates of one bank.

    Attributes:
        encoder: embeds questions, and calibrates cosines.
    """

    def __init__(
        self, store: Store, bank: str, encoder: Encoder, speakers: KnownSpeakers, asked: AskedQuestion | None = None
    ) -> None:
        """Read candidates from a store.

        Args:
            store: the store, or the store as it is in a transaction.
            bank: the bank's id.
            encoder: embeds questions, and calibrates cosines.
            speakers: where the names of the speakers are noted.
            asked: the only question, which was embedded before, as no model may be called in a transaction; None: any
                question is embedded when it is needed.
        """
        self._store, self._bank, self.encoder = store, bank, encoder
        self._speakers, self._asked = speakers, asked

    def measure_candidates(self, query: Query, k: int = 0) -> tuple[Candidates, features.Signals]:
        """Find the lines that may answer a query, and compute their signals.

        Args:
            query: the query.
            k: find at least this many by meaning, and as many by terms, if the bank has that many lines.

        Returns:
            The candidates, and by name the (C,) signals of each.
        """
        visible = None if query.as_of is None else self._store.filter_seqs(self._bank, Filter(), query.as_of)
        corpus = self._store.corpus_stats(self._bank, visible)
        # The clock of this machine is taken for the asker's.
        asked = self._asked or AskedQuestion(query.text, query.as_of or now().astimezone(), self.encoder)
        parsed = asked.parse(corpus.names, asked.find_owners(self._store, self._bank, corpus, visible))
        if visible is None:
            self._speakers.names = corpus.names
        embed = partial(asked.embed if self._asked is None else asked.get_embedded, parsed)
        if self._asked is not None:
            embed()  # before anything else is read
        candidates = find_candidates(
            self._store,
            self._bank,
            self.encoder.name,
            parsed,
            lambda: None if (question := embed()) is None else question.vector,
            corpus,
            self._restrict(query, parsed, asked.clock, visible, corpus.last_seq),
            k,
        )
        if (question := embed()) is not None:
            self._warn_if_unembedded(candidates, query.exclude)
            cosine = self.encoder.calibrate(candidates.cosine)
            candidates = replace(candidates, cosine=cosine, tokens=question.tokens)
        return candidates, features.compute_signals(parsed, candidates)

    def _restrict(
        self, query: Query, parsed: ParsedQuery, clock: datetime, visible: Seqs | None, last_seq: int
    ) -> LineRestrictions:
        """Return the lines that a query may find, and those that count for it."""
        in_times = None
        if parsed.asks_for_overview:
            in_times = time_overview.find_lines(self._store, self._bank, parsed, clock, query.as_of, last_seq)
        allowed = visible
        if query.where is not None:
            allowed = self._store.filter_seqs(self._bank, query.where, query.as_of)
        exclude = np.array(sorted(query.exclude), np.int64) if query.exclude else None
        return LineRestrictions(visible, allowed, in_times, exclude)

    def measure_best(self, candidates: Candidates, signals: features.Signals, names: Collection[str]) -> BestMeasures:
        """Measure the best candidates: the signals of their texts, and of the codes of their words.

        Args:
            candidates: the candidates.
            signals: their other signals.
            names: the signals that are needed; others are not measured.
        """
        parsed, best = candidates.parsed, statements.find_best(signals)
        needs_texts, needs_codes = statements.needs_texts(parsed, names), token_match.SIGNAL in names
        with_texts = statements.NO_INDEXES
        if needs_texts:
            on_diets = np.flatnonzero(is_member(candidates.seqs, candidates.diet_seqs))
            with_texts = statements.choose_lines(parsed, signals, best, on_diets)
        question = token_match.weigh_tokens(candidates) if needs_codes else None
        needed = best if with_texts is best else union(best, with_texts)
        read = self._read_best(candidates.seqs[needed], question)

        def list_texts(indexes: npt.NDArray[np.intp]) -> list[str]:
            return [read.get(seq, UNREAD)[1] for seq in candidates.seqs[indexes].tolist()]

        text_groups = _group_by_text(candidates, needed, list_texts(needed))
        if needs_texts:
            found = statements.compute_signals(parsed, signals, with_texts, list_texts(with_texts))
            signals = signals | found
        if not needs_codes:
            return BestMeasures(signals, token_match.UNKNOWN_UNMATCHED, text_groups)
        with_codes = statements.NO_INDEXES if question is None else best
        codes = [read.get(seq, UNREAD)[2] for seq in candidates.seqs[with_codes].tolist()]
        words = token_match.compare_words(signals, question, with_codes, codes)
        return BestMeasures(signals | {token_match.SIGNAL: words.match}, words.unmatched, text_groups)

    def _read_best(self, seqs: Seqs, question: WeightedTokens | None) -> dict[int, tuple[int, str, bytes | None]]:
        """Read by number the numbers and texts of lines, and the codes that a question's tokens are compared with."""
        if not len(seqs):
            return {}
        scheme = "" if question is None else question.scheme
        rows = self._store.texts_with_codes(self._bank, self.encoder.name, scheme, seqs)
        return {row[0]: row for row in rows}

    def _warn_if_unembedded(self, candidates: Candidates, exclude: Collection[int]) -> None:
        """Log once if a bank has vectors of other models only, because recall is then worse.

        Without any vectors, its lines are merely pending: they are embedded in the background or by `reindex`.
        """
        warned = self.encoder.state.warned
        if self._bank in warned:
            return
        missing = np.isnan(candidates.cosine)
        if len(missing) and missing.all() and not np.isin(candidates.rows.seq, list(exclude)).all():
            warned.add(self._bank)
            vectors = self._store.stats(self._bank, self.encoder.name).vectors
            if vectors and self.encoder.name not in vectors:
                log.warning(UNEMBEDDED_WARNING, self.encoder.name)


def _group_by_text(
    candidates: Candidates, chosen: npt.NDArray[np.intp], texts: Sequence[str]
) -> npt.NDArray[np.intp] | None:
    """Return the groups of `BestMeasures`.

    Args:
        candidates: the candidates.
        chosen: the indexes of those that were read; the others are groups of their own.
        texts: their texts; "" for a line that is gone.
    """
    if len(set(texts)) == len(texts):
        return None
    groups = np.arange(len(candidates.seqs))
    speakers = candidates.rows.lines["speaker"][candidates.row_indexes[chosen]].tolist()
    first: dict[tuple[int, str], int] = {}
    groups[chosen] = [
        first.setdefault((speaker, text), index)
        for index, speaker, text in zip(chosen.tolist(), speakers, texts, strict=True)
    ]
    return groups
