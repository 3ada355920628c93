"""packabby: what a person told is summarised when they agree to it; the best summary stands behind the newest message.

From Packabby Robotics' "memory for open-source LLMs", a robot companion. It writes nothing during the talk. What it
writes at the end is the desk's business (chat/scribe_worker.py), and whether it may is the person's (chat/consent.py).
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
from everthread.errors import ModelError
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
# What is nearest to talk that no summary bears on. Kept in no bank: a text there tells of lines, and these of none.
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
    "[Key points of what you were told in an earlier conversation. They may not bear on the message above; if they "
    "don't, leave them aside and answer as if they weren't here]"
)

KNOWLEDGE_HEADING = "[General knowledge, from no conversation]"


class _Found(NamedTuple):
    """A summary, and the one signal by which it was found: its cosine to the question, or its share of the words."""

    unit: Unit
    score: float
    signal: str

    def place(self) -> tuple[float, int]:
        """By this they are sorted: the best first, the later one where two are as good."""
        return -self.score, -self.unit.id


@dataclass(frozen=True, kw_only=True)
class Packabby(Recipe):
    """Packabby's robots: dated key points of what the person said, within 300 tokens a conversation, if they agree.

    The best one (`hits`: more by choice, as far as there is room) by cosine to the newest message stands behind that
    message, with a note that it may not bear on it. As in the source, something is always recalled once there is a
    summary; the three options that it names against that are off, and may be combined:

    - threshold: the least cosine, on the scale of the shipped model's (`Scale`), so that it means the same for all.
    - general: texts of nothing in particular, `DECOYS` for one. A summary is recalled only if it is nearer than all of
      them. The source puts them into the index; here they are in no bank, so that they are found by no other recipe.
    - judge: has each text that is recalled judged, and dropped if it doesn't bear on the message, by the configured
      scribe or by the one that `scribe` is. A verdict that fails drops nothing.

    Two more are of what is written of a conversation:

    - target: what a summary keeps; all else is left out, and what is about nothing of it is not stored. The scribe's
      model copies what is about the target; without a model a row counts that shares a word with it, holds a word of a
      category that it names, or is near to it in meaning. Where the model fails, nothing is stored for now.
    - categories: of which a summary gets one, or "other".

    Texts of general knowledge that a bank was given (`recipes.general_knowledge`) are recalled as summaries are.

    It deviates: the lines are kept as they are said, and forgotten when the person refuses, so that a conversation that
    breaks off is not lost; without vectors the summary is found that shares most with the message in words.
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
    max_hits: int = option(1, "Summaries recalled at most for a message.", low=1, high=1000)
    min_relevance: float = option(
        0.0, "Relevance below which a summary is left out; 0: the nearest is taken.", low=0, high=1
    )
    threshold: float | None = option(None, "Least cosine of a summary that is recalled.", low=-1, high=1)
    decoys: tuple[str, ...] = option((), "Texts of nothing in particular, to all of which a summary must be nearer.")
    judge: bool = option(False, "Whether the scribe judges each text that is recalled, and drops what does not bear.")
    target: str = option("", 'What summaries keep, such as "food and health": all else is left out.')
    categories: tuple[str, ...] = option(CATEGORIES, "Categories, one of which each summary is given; else other.")
    scribe: Scribe | None = None
    _judges: list[Scribe] = field(default_factory=list, init=False, repr=False, compare=False)
    _vectors: dict[tuple[str, int], Vectors] = field(default_factory=dict, init=False, repr=False, compare=False)

    def recall(self, reader: BankReader, asked: Query, k: int) -> SearchResult:
        """The k nearest summaries that pass what is set. A filter is of lines: a summary is found if it allows every
        line of the person's that the summary was written of, and none of them is in the prompt already."""
        query = asked.query[:MAX_QUERY_CHARS]
        vector = reader.encoder.try_embed_query(query)
        near = _by_words(reader, asked) if vector is None else self._near(reader, asked, vector)
        best = islice(_shown(reader, asked, near), k)
        hits = reader.build_unit_hits([each for each in map(_scored, best) if self._bears(query, each.unit.text)])
        relevance = max((hit.relevance for hit in hits), default=0.0)
        return SearchResult(hits, relevance, bool(hits), tuple(dict.fromkeys(terms(query))))

    def narrow_summary(self, reader: BankReader, scribe: Scribe, summary: str) -> str | None:
        """Returns what of a summary is about the target; all of it without a target."""
        if not self.target.strip():
            return summary
        return scribe.narrow(summary, self.target, lambda rows: _nearness(reader, self.target, rows))

    def choose_category(self, scribe: Scribe, summary: str) -> str:
        """Returns the category of a summary, one of `categories` or "other"."""
        own = tuple(self.categories)
        return scribe.categorize(summary) if own == CATEGORIES else scribe.categorize(summary, own)

    def render(self, context: Context, name: str, now: datetime) -> str:
        """The summaries, dated, the oldest first, and general knowledge as such; a note before them says that they may
        not matter."""
        texts = ["\n  ".join([_heading(each, now), *each.text.splitlines()]) for each in context.units]
        return "\n".join([MEMORIES_HEADING, *texts])

    def _near(self, reader: BankReader, asked: Query, vector: Vector) -> list[_Found]:
        """The summaries that are near enough, the nearest first, the later one where two are as near."""
        if not (units := _units(reader, asked)):
            return []
        cosines, least = reader.unit_cosines(vector, RECALLED), self._least(reader, vector)
        found = [_Found(unit, cosines.get((unit.kind, unit.id), UNKNOWN_COSINE), "cosine") for unit in units]
        return sorted((each for each in found if each.score >= least), key=_Found.place)

    def _least(self, reader: BankReader, vector: Vector) -> float:
        """The cosine from which a summary is recalled: the threshold, and that of the nearest general text."""
        least = -1.0 if self.threshold is None else self.threshold
        general = self._embedded(reader, vector.shape[-1])
        if general is None:
            return least
        return max(least, float(reader.encoder.calibrate(shapes.max_cosines(general, vector)).max()))

    def _embedded(self, reader: BankReader, dim: int) -> Vectors | None:
        """(G, E, D) the vectors of the general texts, embedded once a model; None without texts, or while the embedder
        is down."""
        key = reader.encoder.name, dim
        if self.decoys and key not in self._vectors:
            try:
                self._vectors[key] = shapes.embed_texts(reader.encoder.embedder, self.decoys)
            except (ModelError, RuntimeError, OSError) as error:
                log.warning("a summary is recalled without a look at the general texts: %s", error)
        return self._vectors.get(key)

    def _configured(self) -> Scribe | None:
        """Returns the scribe that the configuration names, if it is to judge."""
        if self.judge and not self._judges:
            self._judges.append(open_scribe(open_llm()))
        return self._judges[0] if self._judges else None

    def _bears(self, query: str, text: str) -> bool:
        if (scribe := self.scribe or self._configured()) is None:
            return True
        try:
            return scribe.is_relevant(query, text)
        except ModelError as error:
            log.info("a summary is recalled without a verdict: %s", error)
            return True


def _nearness(reader: BankReader, target: str, rows: Sequence[str]) -> list[float]:
    """Returns the cosines of rows to a target, as the shipped model would give them; zeros without an embedder."""
    vector = reader.encoder.try_embed_query(target)
    made = None if vector is None else reader.encoder.try_embed(rows)
    if vector is None or made is None:
        return [0.0] * len(rows)
    return [float(reader.encoder.calibrate(shapes.max_cosines(each[:, None], vector)).max()) for each in made]


def _units(reader: BankReader, asked: Query) -> list[Unit]:
    category = None if asked.where is None else asked.where.category
    units = [unit for kind in RECALLED for unit in reader.units(kind)]
    return unit_search.filter_units(units, Filter(category=category), asked.as_of)


def _by_words(reader: BankReader, asked: Query) -> list[_Found]:
    """The summaries that share words with the question, those that share most first: where there is no vector of it."""
    wanted = set(terms(asked.query[:MAX_QUERY_CHARS]))
    shares = [(unit, len(wanted.intersection(terms(unit.text)))) for unit in _units(reader, asked)]
    return sorted((_Found(unit, many / len(wanted), "share") for unit, many in shares if many), key=_Found.place)


def _shown(reader: BankReader, asked: Query, found: Sequence[_Found]) -> Iterator[_Found]:
    """Those that the filter allows, of lines none of which is in the prompt already."""
    where = replace(asked.where or Filter(), category=None)
    allowed = reader.allowed_seqs(replace(asked, where=where))
    for each in found:
        if each.unit.kind == GENERAL_KIND and where != Filter():
            continue  # a filter of lines, and it is of none
        first, last = each.unit.first_seq, each.unit.last_seq
        if allowed is None and not any(first <= seq <= last for seq in asked.exclude):
            yield each  # mostly so: no line needs to be read
            continue
        seqs = _written_of(reader, each.unit)
        if seqs.isdisjoint(asked.exclude) and (allowed is None or np.isin(list(seqs), allowed).all()):
            yield each


def _written_of(reader: BankReader, unit: Unit) -> set[int]:
    """The person's lines that a summary was written of; of one that somebody else wrote, all lines of its span."""
    lines = reader.store.get(reader.bank, range(unit.first_seq, unit.last_seq + 1))
    lines = [line for line in lines if line.session == unit.metadata.get("session")] or lines
    return {line.seq for line in [line for line in lines if line.role == "user"] or lines}


def _heading(found: FoundUnit, now: datetime) -> str:
    return KNOWLEDGE_HEADING if found.unit.kind == GENERAL_KIND else format_heading(found, now)


def _scored(found: _Found) -> ScoredUnit:
    relevance = min(max(found.score, 0.0), 1.0)
    return ScoredUnit(found.unit, found.score, relevance, {found.signal: found.score})
