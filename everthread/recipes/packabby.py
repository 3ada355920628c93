"""The recipe packabby: summarises what a person said, if they agree, and recalls the best summary.

From Packabby Robotics' "memory for open-source LLMs", a robot companion. Nothing is derived during a conversation;
`chat.scribe_worker` writes the summary at its end, if `chat.consent` has the person's consent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import numpy as np

from everthread.embedders import shapes
from everthread.errors import ModelError, raised_as
from everthread.llms.names import open_llm
from everthread.recall import unit_search
from everthread.recall.features import UNKNOWN_COSINE
from everthread.recall.query_parsing import MAX_QUERY_CHARS
from everthread.recall.reader import BankReader
from everthread.recall.types import Query, SearchResult
from everthread.recall.unit_search import ScoredUnit
from everthread.recipes.base import OFFERS_MEANING, Recipe
from everthread.recipes.general_knowledge import KIND as GENERAL_KIND
from everthread.recipes.options import option
from everthread.scribes.base import CATEGORIES, Scribe
from everthread.scribes.names import open_scribe
from everthread.text.analyzer import terms
from everthread.text.formatting import format_heading
from everthread.types import Context, Filter, FoundUnit, Sampling, Unit, Vector, Vectors

log = logging.getLogger("everthread")

KIND = "summary"
RECALLED = (KIND, GENERAL_KIND)
# Texts that are nearer than any summary to messages to which no summary is relevant. No bank stores them, since units
# derive from lines.
DECOYS = (
    "They said hello and asked how the other one was.",
    "They talked about the weather and what they did today.",
    "They asked a question about the world, a fact or a word.",
    "They asked when something happened, where, and with whom.",
    "They wanted help with writing, planning or a decision.",
    "They spoke about friends, family, work and free time in general.",
    "They thanked the other one and said goodbye.",
)
MEMORIES_HEADING = (
    "[Key points of what you were told in an earlier conversation. They may not be relevant to the message above; "
    "if they aren't, leave them aside and answer as if they weren't here]"
)
ONLY_KNOWLEDGE_HEADING = (  # in a prompt without a summary
    "[What follows may not be relevant to the message above; if it isn't, leave it aside and answer as if it "
    "weren't here]"
)
KNOWLEDGE_HEADING = "[General knowledge, from no conversation]"


class _ScoredSummary(NamedTuple):
    """A summary with its score. The signal is "cosine", or "share" of the question's words if there are no vectors."""

    unit: Unit
    score: float
    signal: str

    def sort_key(self) -> tuple[float, int]:
        """Return the key that sorts the best summary first; in a tie, the later one."""
        return -self.score, -self.unit.id


@dataclass(frozen=True, kw_only=True)
class Packabby(Recipe):
    """Summarises what the person said in a conversation, if they agree, and recalls the nearest summary.

    The recipe follows Packabby Robotics' robots. A summary is dated key points within 300 tokens. The summary with the
    greatest cosine to the newest message follows that message, with a note that it may be irrelevant; with `max_hits`,
    several do, as many as there is room for. As in the source, something is always recalled once there is a summary.
    Three options prevent that; they are off, and can be combined:

    - threshold: the minimum cosine, on the scale of the shipped model (`embedders.calibration`), for any model.
    - decoys: texts about nothing in particular, such as `DECOYS`. A summary is recalled only if it is nearer than all
      of them. The source puts them into the index; here no bank contains them, so no other recipe finds them.
    - judge: the configured scribe, or the one given as `scribe`, judges each summary, and irrelevant ones are dropped.
      If judging fails, nothing is dropped.

    Two more options affect what is written about a conversation:

    - target: the only subject that a summary covers; a summary without it is not stored. The scribe's model copies the
      sentences about the target; without a model, a row is included if it shares a word with the target, contains a
      word of a category that the target names, or is near to it in meaning. If the model fails, nothing is stored yet.
    - categories: each summary gets one of these, or "other".

    Texts of general knowledge that were added to a bank (`recipes.general_knowledge`) are recalled like summaries.

    Deviations: lines are stored as they are said, and forgotten if the person refuses, so that an interrupted
    conversation is not lost; without vectors, the summary that shares most words with the message is found.
    """

    name = "packabby"
    description = (
        "Packabby Robotics': what a person said is summarised if they agree to it, and the nearest summary recalled"
    )
    kinds = (KIND,)
    vectors = False
    notes = False
    categorised = True
    offers: bool = option(False, OFFERS_MEANING)
    needs_consent = True
    memories_last = True
    sampling = Sampling(temperature=0.5, top_p=0.9, presence_penalty=0.0, max_tokens=300)
    max_hits: int = option(1, "Maximum number of summaries recalled for a message.", low=1, high=1000)
    min_relevance: float = option(
        0.0, "Minimum relevance of a recalled summary; 0: the nearest is always recalled.", low=0, high=1
    )
    threshold: float | None = option(None, "Minimum cosine of a recalled summary.", low=-1, high=1)
    decoys: tuple[str, ...] = option((), "Generic texts; a summary must be nearer to the message than all of them.")
    judge: bool = option(False, "Whether the scribe judges each recalled text and drops irrelevant ones.")
    target: str = option("", 'Subject that summaries are limited to, such as "food and health".')
    categories: tuple[str, ...] = option(CATEGORIES, "Categories of summaries; a summary that fits none gets other.")
    scribe: Scribe | None = None  # judges; None: the configured one
    _judges: list[Scribe] = field(default_factory=list, init=False, repr=False, compare=False)
    _vectors: dict[tuple[str, int], Vectors] = field(default_factory=dict, init=False, repr=False, compare=False)

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        """Find the k nearest summaries that pass the options.

        A filter applies to lines: a summary is found if the filter allows all of the person's lines that it derives
        from, and none of them is in the prompt already.
        """
        text = query.text[:MAX_QUERY_CHARS]
        vector = reader.encoder.try_embed_query(text)
        summaries = _find_by_words(reader, query) if vector is None else self._find_nearest(reader, query, vector)
        best = islice(_filter_allowed(reader, query, summaries), k)
        hits = reader.build_unit_hits(
            [scored for scored in map(_to_scored_unit, best) if self._is_relevant(reader, text, scored.unit.text)]
        )
        relevance = max((hit.relevance for hit in hits), default=0.0)
        return SearchResult(hits, relevance, bool(hits), tuple(dict.fromkeys(terms(text))))

    def narrow_summary(self, reader: BankReader, scribe: Scribe, summary: str) -> str | None:
        """Return the part of a summary that is about the target; without a target, the whole summary."""
        if not self.target.strip():
            return summary
        return scribe.narrow(summary, self.target, lambda rows: _compute_cosines(reader, self.target, rows))

    def choose_category(self, scribe: Scribe, summary: str) -> str:
        """Return the category of a summary, one of `categories` or "other"."""
        names = tuple(self.categories)
        return scribe.categorize(summary) if names == CATEGORIES else scribe.categorize(summary, names)

    def render(self, context: Context, name: str, now: datetime) -> str:
        """Render a note that memories may be irrelevant, the dated summaries, oldest first, and general knowledge."""
        texts = ["\n  ".join([_format_heading(unit, now), *unit.text.splitlines()]) for unit in context.units]
        has_summary = any(unit.unit.kind != GENERAL_KIND for unit in context.units)
        return "\n".join([MEMORIES_HEADING if has_summary else ONLY_KNOWLEDGE_HEADING, *texts])

    def _find_nearest(self, reader: BankReader, query: Query, vector: Vector) -> list[_ScoredSummary]:
        """Return the summaries that reach the minimum cosine, the nearest first; in a tie, the later one."""
        if not (units := _read_units(reader, query)):
            return []
        cosines, min_cosine = reader.unit_cosines(vector, RECALLED), self._min_cosine(reader, vector)
        scored = [_ScoredSummary(unit, cosines.get((unit.kind, unit.id), UNKNOWN_COSINE), "cosine") for unit in units]
        return sorted((summary for summary in scored if summary.score >= min_cosine), key=_ScoredSummary.sort_key)

    def _min_cosine(self, reader: BankReader, vector: Vector) -> float:
        """Return the minimum cosine of a recalled summary: the threshold or the greatest of a decoy."""
        threshold = -1.0 if self.threshold is None else self.threshold
        decoys = self._embed_decoys(reader, vector.shape[-1])
        if decoys is None:
            return threshold
        return max(threshold, float(reader.encoder.calibrate(shapes.max_cosines(decoys, vector)).max()))

    def _embed_decoys(self, reader: BankReader, dim: int) -> Vectors | None:
        """Return the (G, E, D) vectors of the decoys, embedded once per model; None without decoys or embedder."""
        key = reader.encoder.name, dim
        if self.decoys and key not in self._vectors:
            embedder = reader.encoder.embedder
            try:
                vectors = reader.call_model(lambda: shapes.embed_texts(embedder, self.decoys), None)
            except ModelError as error:
                log.warning("a summary is recalled without comparing it with the decoys: %s", error)
                return None
            if vectors is not None:
                self._vectors[key] = vectors
        return self._vectors.get(key)

    def _get_judge(self) -> Scribe | None:
        """Return the configured scribe, if it is to judge."""
        if self.judge and not self._judges:
            self._judges.append(open_scribe(open_llm()))
        return self._judges[0] if self._judges else None

    def _is_relevant(self, reader: BankReader, query: str, text: str) -> bool:
        if (scribe := self.scribe or self._get_judge()) is None:
            return True
        try:
            with raised_as(ModelError, "the scribe"):
                return reader.call_model(lambda: scribe.is_relevant(query, text), True)
        except ModelError as error:
            log.info("a summary is recalled because judging it failed: %s", error)
            return True


def _compute_cosines(reader: BankReader, target: str, rows: Sequence[str]) -> list[float]:
    """Return the cosines of rows to a target, on the shipped model's scale; zeros without an embedder."""
    vector = reader.encoder.try_embed_query(target)
    row_vectors = None if vector is None else reader.encoder.try_embed_vectors(rows)
    if vector is None or row_vectors is None:
        return [0.0] * len(rows)
    return [float(reader.encoder.calibrate(shapes.max_cosines(row[:, None], vector)).max()) for row in row_vectors]


def _read_units(reader: BankReader, query: Query) -> list[Unit]:
    category = None if query.where is None else query.where.category
    units = [unit for kind in RECALLED for unit in reader.units(kind)]
    return unit_search.filter_units(units, Filter(category=category), query.as_of)


def _find_by_words(reader: BankReader, query: Query) -> list[_ScoredSummary]:
    """Return the summaries that share words with the question, those that share most first."""
    query_terms = set(terms(query.text[:MAX_QUERY_CHARS]))
    counts = [(unit, len(query_terms.intersection(terms(unit.text)))) for unit in _read_units(reader, query)]
    scored = (_ScoredSummary(unit, count / len(query_terms), "share") for unit, count in counts if count)
    return sorted(scored, key=_ScoredSummary.sort_key)


def _filter_allowed(reader: BankReader, query: Query, summaries: Sequence[_ScoredSummary]) -> Iterator[_ScoredSummary]:
    """Yield the summaries that the filter allows and that derive from no line in the prompt."""
    where = replace(query.where or Filter(), category=None)
    allowed = reader.allowed_seqs(replace(query, where=where))
    for summary in summaries:
        if summary.unit.kind == GENERAL_KIND and where != Filter():
            continue  # it derives from no line, so a filter of lines excludes it
        first, last = summary.unit.first_seq, summary.unit.last_seq
        if allowed is None and not any(first <= seq <= last for seq in query.exclude):
            yield summary  # the usual case: no line has to be read
            continue
        seqs = _source_seqs(reader, summary.unit)
        if seqs.isdisjoint(query.exclude) and (allowed is None or np.isin(list(seqs), allowed).all()):
            yield summary


def _source_seqs(reader: BankReader, unit: Unit) -> set[int]:
    """Return the person's lines that a summary derives from; for one of another origin, all lines of its span."""
    lines = reader.store.get(reader.bank, range(unit.first_seq, unit.last_seq + 1))
    lines = [line for line in lines if line.session == unit.metadata.get("session")] or lines
    return {line.seq for line in [line for line in lines if line.role == "user"] or lines}


def _format_heading(source: FoundUnit, now: datetime) -> str:
    return KNOWLEDGE_HEADING if source.unit.kind == GENERAL_KIND else format_heading(source, now)


def _to_scored_unit(summary: _ScoredSummary) -> ScoredUnit:
    relevance = min(max(summary.score, 0.0), 1.0)
    return ScoredUnit(summary.unit, summary.score, relevance, {summary.signal: summary.score})
