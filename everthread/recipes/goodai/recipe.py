"""The recipe goodai, after GoodAI-LTM: overlapping chunks of the conversation, grown to passages."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from everthread.errors import EverthreadError
from everthread.llms.names import open_llm
from everthread.recall.context_packing import fill_context
from everthread.recall.reader import BankReader
from everthread.recall.recency_importance import ScoreWeights
from everthread.recall.types import ContextLimits, Query, ScoredLine, SearchResult
from everthread.recipes.base import OFFERS_MEANING, Recipe
from everthread.recipes.goodai import chunk_queue, matching, tokenizers
from everthread.recipes.goodai.chunk_context import ChunkContextReader
from everthread.recipes.goodai.chunk_index import ChunkIndex, ChunkingConfig
from everthread.recipes.goodai.cutting import BOUNDARIES, Cutting
from everthread.recipes.goodai.dialogue import find_question
from everthread.recipes.goodai.expansion import (
    EXPANSIONS,
    REDUNDANCY,
    Expansion,
    Passage,
    collect_candidates,
    drop_redundant,
    expand,
)
from everthread.recipes.goodai.matching import Matcher, predict_confidences
from everthread.recipes.goodai.query_rewriting import CONTEXT_LINES, Rewriter
from everthread.recipes.goodai.text_memory import RERANKING_K_FACTOR
from everthread.recipes.goodai.token_stream import CHUNK, LINES, SPEAKER, TokenStream
from everthread.recipes.goodai.tokenizers import Tokenizer, word_pieces
from everthread.recipes.options import option
from everthread.scribes.base import Scribe
from everthread.scribes.names import open_scribe
from everthread.types import Context, FoundUnit, Hit, JSONValue, Seqs, Unit, Vector, now

log = logging.getLogger("everthread")

PAGE_CHUNKS = 16  # chunks that are read together, the nearest first
WORD_HIT_NEIGHBOURS = 1  # lines on either side of a line that was found by its words
FIRST_CHUNKS = 128  # nearest chunks whose distances are read first; the others are read only if these don't suffice


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A chunk that was found, its passage, and its ratings."""

    unit: Unit  # the passage, under the chunk's id
    text: str  # the text of the chunk
    session: str
    distance: float
    confidence: float | None = None
    score: float | None = None

    @property
    def relevance(self) -> float:
        return 1 - self.distance / 4 if self.confidence is None else self.confidence


@dataclass(frozen=True, kw_only=True)
class GoodAI(Recipe):
    """Recalls passages of earlier sessions, found by overlapping chunks of the conversation.

    The recipe follows GoodAI-LTM (github.com/GoodAI/goodai-ltm). The lines of a session are one stream of tokens, cut
    into overlapping chunks of `chunk_capacity` tokens. The chunks nearest to a question each grow to a passage. A new
    session is a separator. The distance of two vectors is 2 − 2 cos; of several vectors, the least distance counts.
    Passages of which better ones contain the share `redundancy` are left out. A matcher rates `reranking_k_factor`
    times as many chunks again; `weighing` orders passages by relevance, recency and importance, which a line's metadata
    has as "importance", from 1 to 10. There is no relevance gate: the nearest chunks are found, however far they are.

    Deviations: no chunk crosses the end of a line, and the sentence that asks also has a vector of its own; with
    `boundary="none"` and `question_vector=False` both are as in the source. The embedder is the bank's, usually with
    one vector per chunk. Chunks are cut as if retracted lines had never been said, so retracting a line does not remove
    its neighbours' chunks. The last session's chunks that aren't full are written when they are first searched. Beyond
    `capacity`, a hundredth of the chunks is evicted at once, but never a line. If no embedder answers, or it can't read
    the question, lines are found by the words that they share with it. The source stores a rewritten text in place of
    the added one; here `rewrite` affects only a chunk's vector, and recall always returns what was said.
    """

    name = "goodai"
    description = "goodai-ltm's: overlapping chunks of the talk, grown to passages"
    kinds = (CHUNK,)
    vectors = False
    notes: ClassVar[bool] = False
    summaries: ClassVar[bool] = False
    offers: bool = option(False, OFFERS_MEANING)

    max_hits: int = option(10, "Maximum number of recalled passages.", low=1, high=1000)  # as its evaluation asks for
    chunk_capacity: int = option(chunk_queue.CHUNK_TOKENS, "Number of tokens in a chunk.", low=1)
    chunk_overlap: float = option(chunk_queue.OVERLAP, "Share of a chunk that the next one repeats.", low=0, high=0.5)
    capacity: int = option(chunk_queue.MAX_CHUNKS, "Maximum number of chunks in a bank; the oldest are evicted.", low=1)
    tokenizer: Any = word_pieces  # anything that `tokenizers.open_tokenizer` accepts
    expansion: Expansion | str = option(
        "sentence", "Unit of text to which a found chunk is expanded.", choices=tuple(EXPANSIONS)
    )
    boundary: str = option("line", "What no chunk crosses: the end of a line; the source has none.", choices=BOUNDARIES)
    question_vector: bool = option(
        True,
        "Whether the sentence that asks is also embedded alone, and the nearer vector counts; not with rewrite.",
    )
    redundancy: float = option(
        REDUNDANCY, "Drop a passage if better ones contain at least this share of it.", low=0.01, high=1
    )
    matcher: Matcher | str | None = option(
        "",
        "Matching model that reranks candidates: em:EMBEDDER, such as em:minilm, or st:NAME; empty for none.",
        remote=("", "em:minilm"),
    )
    reranking_k_factor: float = option(
        RERANKING_K_FACTOR,
        "Number of candidates per requested passage, if a matcher or weights rerank them.",
        low=1,
        high=1000,
    )
    recency: float = option(0.0, "Weight of a passage's recency; its relevance has weight 1.", low=0)
    importance: float = option(0.0, "Weight of a passage's importance, where lines have one.", low=0)
    half_life_days: float = option(1.0, "Days after which recency is halved.", low=0.001, high=1_000_000)
    weighing: ScoreWeights | None = None  # replaces the three options above
    rewrite: bool = option(
        False,
        "Whether the language model rewrites questions, and chunks for their vectors, so that they can be understood "
        "without context; both are then slower.",
    )
    scribe: Scribe | None = None  # rewrites; None: the configured language model, else the extractive scribe

    def __post_init__(self) -> None:
        """Check the options. Raises BadInput."""
        super().__post_init__()
        self._tokens, self._matching, self._weighing  # noqa: B018  # computed now, so that invalid options raise here

    @cached_property
    def _tokens(self) -> Tokenizer:
        return tokenizers.open_tokenizer(self.tokenizer)

    @cached_property
    def _matching(self) -> Matcher | None:
        return _open_matcher(self.matcher) if isinstance(self.matcher, str) else matching.resolve_matcher(self.matcher)

    @cached_property
    def _growth(self) -> Expansion:
        return EXPANSIONS[self.expansion] if isinstance(self.expansion, str) else self.expansion

    @cached_property
    def _weighing(self) -> ScoreWeights | None:
        if self.weighing is not None or not (self.recency or self.importance):
            return self.weighing
        return ScoreWeights(1.0, self.recency, self.importance, timedelta(days=self.half_life_days))

    @cached_property
    def _rewriter(self) -> Rewriter:
        return Rewriter(self._scribe)

    def _scribe(self) -> Scribe:
        return self.scribe or open_scribe(open_llm())

    def update(self, reader: BankReader) -> None:
        self._chunking(reader).update()

    def _chunking(self, reader: BankReader) -> ChunkIndex:
        step = self.chunk_capacity - int(self.chunk_capacity * self.chunk_overlap)
        cutting = Cutting(self.chunk_capacity, step, self.boundary)
        if not self.rewrite:
            config = ChunkingConfig(cutting, self._tokens)
            return ChunkIndex(reader.store, reader.bank, reader.encoder, config, self.capacity)
        config = ChunkingConfig(cutting, self._tokens, CONTEXT_LINES)
        rewrite = partial(self._rewriter.rewrite_chunks, reader)
        return ChunkIndex(reader.store, reader.bank, reader.encoder, config, self.capacity, rewrite)

    def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
        if self.rewrite:
            rewrite = partial(self._rewriter.rewrite_question, reader, query)
            query = replace(query, text=reader.call_model(rewrite, query.text))
        allowed = reader.allowed_seqs(query)
        if (vector := self._embed(reader, query.text)) is None:
            return _search_words(reader, query, k)
        reader.call_model(partial(self._chunking(reader).update, shown=query.exclude), None)
        best = self._best(reader, query, k, self._candidates(reader, query, vector, allowed))
        hits = [_to_hit(candidate) for candidate in best]
        return SearchResult(hits, max((hit.relevance for hit in hits), default=0.0), bool(hits), allowed=allowed)

    def _embed(self, reader: BankReader, text: str) -> Vector | None:
        """Embed a question, and beside it the sentence that asks; None if no embedder answers or reads it."""
        if (vector := reader.encoder.try_embed_query(text)) is None:
            return None
        question = find_question(text) if self.question_vector and not self.rewrite else text
        alone = None if question == text.strip() else reader.encoder.try_embed_query(question)
        return vector if alone is None else np.vstack((vector, alone))

    def lay_out(self, reader: BankReader, result: SearchResult, limits: ContextLimits) -> Context:
        return fill_context(result.hits, (), limits.tokens, limits.count, result.relevance, result.terms)

    def _candidates(
        self, reader: BankReader, query: Query, vector: Vector, allowed: Seqs | None
    ) -> Iterator[tuple[Passage, _Candidate]]:
        """Yield passages with their chunks, the nearest first."""
        contexts = ChunkContextReader(
            reader.store, reader.bank, self._tokens, self._growth.most, allowed, query.exclude
        )
        nearest = _search_vectors(reader, vector, allowed)
        while page := dict(islice(nearest, PAGE_CHUNKS)):
            units = {unit.id: unit for unit in reader.store.units(reader.bank, (CHUNK,), ids=list(page))}
            contexts.read(list(units.values()))
            for id, distance in page.items():
                if id in units and (context := contexts.find_context(units[id])) is not None:
                    passage = expand(*context, self._growth)
                    if passage.text:
                        yield passage, _build_candidate(units[id], passage, context[0], distance)

    def _best(
        self, reader: BankReader, query: Query, k: int, candidates: Iterator[tuple[Passage, _Candidate]]
    ) -> Sequence[_Candidate]:
        if self._matching is None and self._weighing is None:
            return [candidate for _, candidate in islice(drop_redundant(candidates, self.redundancy), k)]
        count = math.ceil(k * self.reranking_k_factor)
        found = collect_candidates(candidates, count, self.redundancy)
        pool = found if self._matching is None else reader.call_model(lambda: self._rerank(query.text, found), found)
        best = [candidate for _, candidate in islice(drop_redundant(pool, self.redundancy), count)]
        if self._weighing is not None:
            best = _weigh(best, self._weighing, query.as_of or now())
        return best[:k]

    def _rerank(self, query: str, pool: list[tuple[Passage, _Candidate]]) -> list[tuple[Passage, _Candidate]]:
        """Order candidates by the matcher's confidence, or by distance if it fails."""
        if self._matching is None:
            return pool
        try:
            confidences = predict_confidences(self._matching, query, [candidate.text for _, candidate in pool])
        except EverthreadError as error:
            log.warning("chunks are ordered only by distance because the matcher failed: %s", error)
            return pool
        rated = [
            (passage, replace(candidate, confidence=confidence))
            for (passage, candidate), confidence in zip(pool, confidences, strict=True)
        ]
        return sorted(rated, key=lambda pair: -pair[1].relevance)


@lru_cache(maxsize=8)
def _open_matcher(name: str) -> Matcher | None:
    """Open a matching model once for all recipes that name it: a server has a recipe for each bank."""
    return matching.resolve_matcher(name)


def _search_words(reader: BankReader, query: Query, k: int) -> SearchResult:
    """Find the lines that share words with a question, the best by BM25 first."""
    candidates, signals = reader.measure_candidates(query, k)
    scores, shares = signals["bm25_window"], signals["share"]
    best = [index for index in np.argsort(-scores, kind="stable").tolist() if shares[index] > 0][:k]
    ranked = []
    for index in best:
        share = float(shares[index])
        ranked.append(ScoredLine(int(candidates.seqs[index]), float(scores[index]), share, {"words": share}))
    hits = reader.read_hits(ranked, WORD_HIT_NEIGHBOURS, candidates.allowed, query.exclude)
    relevance = max((hit.relevance for hit in hits), default=0.0)
    return SearchResult(hits, relevance, bool(hits), candidates.parsed.terms, candidates.allowed)


def _search_vectors(reader: BankReader, vector: Vector, allowed: Seqs | None) -> Iterator[tuple[int, float]]:
    """Yield the ids of chunks with their distances, the nearest first.

    Chunks whose first or last line may not be shown are left out; lines between these are checked when they are read.
    """
    shown: Seqs | None = None
    if allowed is not None:
        spans = reader.store.unit_spans(reader.bank, CHUNK)
        shown = spans[np.isin(spans[:, 1], allowed) & np.isin(spans[:, 2], allowed), 0]
    seen: set[int] = set()
    for limit in (FIRST_CHUNKS, None):  # usually the first ones suffice
        found = reader.store.unit_cosines(reader.bank, reader.encoder.name, vector, (CHUNK,), limit)
        ids = np.array([number for _, number, _ in found], np.int64)
        distances = np.maximum(2 - 2 * np.array([cosine for *_, cosine in found], np.float64), 0)
        order = np.lexsort((ids, distances))
        if shown is not None:
            order = order[np.isin(ids[order], shown)]
        for id, distance in zip(ids[order].tolist(), distances[order].tolist(), strict=True):
            if id not in seen:
                yield id, distance
        if limit is None or len(found) < limit:
            return
        seen.update(ids.tolist())


def _build_candidate(unit: Unit, passage: Passage, stream: TokenStream, distance: float) -> _Candidate:
    """Build a candidate from a chunk and its passage."""
    lines = stream.lines_between(passage.start, passage.end)
    first, last = lines[0], lines[-1]
    metadata: dict[str, JSONValue] = {LINES: [first.seq, last.seq], SPEAKER: first.speaker}
    grown = replace(
        unit, text=passage.text, first_seq=first.seq, last_seq=last.seq, said_at=last.said_at, metadata=metadata
    )
    return _Candidate(grown, unit.text, last.session, distance)


def _weigh(candidates: Sequence[_Candidate], weighing: ScoreWeights, at: datetime) -> list[_Candidate]:
    """Order candidates by relevance, recency and importance together."""

    def score(candidate: _Candidate) -> _Candidate:
        importance = None if candidate.unit.importance is None else round(candidate.unit.importance)
        value = weighing.score(candidate.relevance, at - candidate.unit.said_at, importance)
        return replace(candidate, score=value)

    return sorted(map(score, candidates), key=lambda candidate: -(candidate.score or 0.0))


def _to_hit(candidate: _Candidate) -> Hit:
    """Return the passage as a hit, labelled with its first speaker."""
    signals = {"distance": candidate.distance}
    signals |= {} if candidate.confidence is None else {"confidence": candidate.confidence}
    score = candidate.relevance if candidate.score is None else candidate.score
    source = FoundUnit(candidate.unit, candidate.session, str(candidate.unit.metadata[SPEAKER]))
    return Hit(source, score, candidate.relevance, signals)
