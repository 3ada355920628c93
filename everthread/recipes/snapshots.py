"""The recipe character: notes that are kept up to date, and every earlier state of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import ClassVar

import numpy as np

from everthread.errors import BadInput
from everthread.recall.context_packing import fill_context
from everthread.recall.features import UNKNOWN_COSINE
from everthread.recall.query_parsing import MAX_QUERY_CHARS
from everthread.recall.reader import BankReader
from everthread.recall.types import ContextLimits, Query, SearchResult
from everthread.recall.unit_search import ScoredUnit
from everthread.recipes.base import FACTS_MEANING, OFFERS_MEANING, Recipe
from everthread.recipes.options import option
from everthread.text.analyzer import terms
from everthread.text.centrality import SCORE_DIGITS, select_by_mmr, tfidf_cosines
from everthread.text.formatting import format_heading, format_line
from everthread.types import Context, FoundUnit, Hit, Seqs, Unit

NOTE = "note"
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SnapshotResult(SearchResult):
    """The hits, and the current notes."""

    notes: Hit | None = None  # None if they are in the prompt already


@dataclass(frozen=True, kw_only=True)
class Snapshots(Recipe):
    """Keeps notes of a conversation, and recalls earlier states of them.

    The recipe follows long-memory-character-chat, a page on which a person talks with characters, and has its three
    tiers of memory:

    - The window: when it has 16 lines, the oldest 8 are noted and leave it, except for the last 2 of these, which stay
      for one more round and are noted again with the lines after them.
    - The notes (at most 125 words), which the scribe updates from the old notes, the recalled memories and those lines.
    - The earlier states of the notes: each message searches them for 3 by maximal marginal relevance. They are shown by
      date, and where two differ the newer one counts.

    There is no relevance gate, and no summary of a session except the notes. The next step that the source plans, a
    character that refers to the past unasked, is an option (`offers=True`): at the beginning of a conversation it may
    bring up an event that the person announced and that has happened since. The profiles of people that it plans are an
    option, too: `facts=True` adds what is known of those that a message names, also if no earlier state is found.

    Deviations: lines also leave the window when its tokens outgrow the model's context; lines that could not be noted
    stay in it. The similarity of notes is computed from their words, not from vectors: successive states of notes share
    rows, and words need no embedder. Only the latest state with a given text is found.

    A note is found only if all the lines that it derives from may be recalled. It derives from both sides and from all
    earlier lines, so a filter for one speaker, or for lines since some day, finds none.
    """

    name = "character"
    description = "long-memory-character-chat's: notes kept up to date, and every earlier state of them"
    kinds = (NOTE,)
    vectors = False
    summaries: ClassVar[bool] = False
    offers: bool = option(False, OFFERS_MEANING)
    facts: bool = option(False, FACTS_MEANING)
    facts_alone = True

    window_max: int = option(16, "Number of lines in the window at which the oldest are noted and leave it.", low=2)
    evict: int = option(8, "Number of lines that leave the window at a time.", low=1)
    overlap: int = option(2, "Number of noted lines that stay in the window for one more round.", low=0)
    max_hits: int = option(3, "Maximum number of recalled earlier states of the notes.", low=1, high=1000)
    min_relevance: float = option(0.0, "Minimum relevance of a recalled earlier state of the notes.", low=0, high=1)
    pool: int = option(20, "Number of most relevant notes from which the recalled ones are chosen.", low=1)
    balance: float = option(0.5, "Weight of relevance (1) against novelty (0) in that choice.", low=0, high=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.overlap < self.evict < self.window_max:
            raise BadInput(
                f"invalid window: got overlap={self.overlap}, evict={self.evict}, window_max={self.window_max}; "
                "expected 0 <= overlap < evict < window_max",
                reason="window-order",
            )

    def count_evicted_lines(self, costs: Sequence[int], limit: int) -> int:
        """Count the oldest lines that leave the window: 0, or so that at least one of them was not noted before."""
        evicted = super().count_evicted_lines(costs, limit)
        if len(costs) >= self.window_max:
            evicted = max(evicted, self.evict)
        if evicted:
            evicted = max(evicted, self.overlap + 1)
        return evicted if evicted < len(costs) else 0  # the newest line always stays

    def recall(self, reader: BankReader, query: Query, k: int) -> SnapshotResult:
        excluded = _excluded_seqs(reader, query)
        units = [unit for unit in reader.units(NOTE) if not _derives_from(unit, excluded)]
        text = query.text[:MAX_QUERY_CHARS]
        pool = list(islice(_drop_repeated_texts(_rank_notes(reader, text, units), query.notes), max(k, self.pool)))
        hits = reader.build_unit_hits(self._select_diverse(pool)[:k])
        relevance = max((hit.relevance for hit in hits), default=0.0)
        current = reader.build_unit_hits(
            [_to_scored_unit(unit, 0.0, "notes") for unit in units[-1:] if query.notes is None]
        )
        notes = current[0] if current else None
        return SnapshotResult(hits, relevance, True, tuple(dict.fromkeys(terms(text))), notes=notes)

    def _select_diverse(self, notes: Sequence[ScoredUnit]) -> list[ScoredUnit]:
        """Order notes by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998)."""
        similarity = tfidf_cosines([terms(note.unit.text) for note in notes])
        order = select_by_mmr(np.array([note.score for note in notes]), similarity, lambda _: True, self.balance)
        return [notes[index] for index in order]

    def lay_out(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> Context:
        """Lay out the current notes, then the earlier states by date."""
        notes = result.notes if isinstance(result, SnapshotResult) else None
        hits = result.hits if notes is None else [notes, *(hit for hit in result.hits if hit.unit.id != notes.unit.id)]
        for count in range(len(hits), 0, -1):
            context = fill_context(hits[:count], (), limits.tokens, limits.count, result.relevance, result.terms)
            text = _render_notes(context.units, None if notes is None else notes.unit.id)
            if (tokens := limits.count(text)) <= limits.tokens:
                return replace(context, text=text, tokens=tokens, cut=(*context.cut, *hits[count:]))
        return Context("", 0, (), (), tuple(hits), result.relevance)

    def render(self, context: Context, name: str, now: datetime) -> str:
        """Render the earlier notes, each with its age."""
        title = f"[Older notes of {name}'s, the oldest first; what a newer one says otherwise is so no more]"
        return "\n\n".join([title, *(_render_note(note, now) for note in context.units)])


def _rank_notes(reader: BankReader, query: str, units: Sequence[Unit]) -> Iterator[ScoredUnit]:
    """Yield the notes, the most relevant first; in a tie, the later one.

    Notes are scored by their cosine to the question, or, if it has no vector, by the share of its words that they
    contain.
    """
    vector = reader.encoder.try_embed_query(query)
    if vector is None:
        query_terms = set(terms(query))
        scores = [len(query_terms.intersection(terms(unit.text))) / max(len(query_terms), 1) for unit in units]
    else:
        cosines = reader.unit_cosines(vector, (NOTE,))
        scores = [round(cosines.get((NOTE, unit.id), UNKNOWN_COSINE), SCORE_DIGITS) for unit in units]
    signal = "share" if vector is None else "cosine"
    for score, unit in sorted(zip(scores, units, strict=True), key=lambda pair: (-pair[0], -pair[1].id)):
        yield _to_scored_unit(unit, score, signal)


def _to_scored_unit(unit: Unit, score: float, signal: str) -> ScoredUnit:
    return ScoredUnit(unit, score, min(max(score, 0.0), 1.0), {signal: score})


def _drop_repeated_texts(ranked: Iterable[ScoredUnit], notes: Unit | None) -> Iterator[ScoredUnit]:
    """Yield the first note with each text, and no note with the text of the notes in the prompt."""
    seen = set() if notes is None else {notes.text}
    for note in ranked:
        if note.unit.text not in seen:
            seen.add(note.unit.text)
            yield note


def _excluded_seqs(reader: BankReader, query: Query) -> Seqs:
    """Return the numbers of lines that may not be shown or that the prompt contains, ascending."""
    shown = np.array(sorted(query.exclude), np.int64)
    if (allowed := reader.allowed_seqs(query)) is None:
        return shown
    visible = np.asarray(reader.allowed_seqs(Query("", as_of=END_OF_TIME)), np.int64)
    return np.union1d(np.setdiff1d(visible, allowed), shown)


def _derives_from(unit: Unit, seqs: Seqs) -> bool:
    """Return whether a note derives from any of these lines, which are ascending."""
    start, stop = np.searchsorted(seqs, [unit.first_seq, unit.last_seq + 1])
    return bool(start < stop)


def _render_notes(notes: Sequence[FoundUnit], first: int | None) -> str:
    """Render the note with this id first, then the others in their order, each under its date."""
    return "\n\n".join(_render_note(note) for note in sorted(notes, key=lambda note: note.unit.id != first))


def _render_note(note: FoundUnit, now: datetime | None = None) -> str:
    return f"{format_heading(note, now)}\n{format_line(note)}"
