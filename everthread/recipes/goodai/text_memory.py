"""TextMemory: goodai-ltm's library. Texts go in, passages come out; it lives in this process, and is kept as text.

A text's chunks (`chunks.py`) are embedded when they are first searched, so that what is added bit by bit, or all at
once, is embedded once. A query finds the nearest chunks; each grows to a passage (`expansion.py`), and one that says
nothing new is left out. Without an embedder, or while it can't be reached, chunks are found by their words. It knows no
bank and no session. Not for several threads at once.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np

from everthread.embedders import names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, BadQuery, ConfigError, EmbedderUnavailable, ModelError
from everthread.recall.recency_importance import ScoreWeights
from everthread.recipes.goodai import chunk_queue, matching, tokenizers
from everthread.recipes.goodai.chunk_queue import Changes, Chunk, ChunkQueue
from everthread.recipes.goodai.dialogue import parse_lines, split_last_turn
from everthread.recipes.goodai.expansion import (
    REDUNDANCY,
    SENTENCE,
    Expansion,
    Passage,
    collect_candidates,
    drop_redundant,
    expand,
)
from everthread.recipes.goodai.matching import Matcher, predict_confidences
from everthread.recipes.goodai.tokenizers import Tokenizer, word_pieces
from everthread.recipes.goodai.vector_index import VectorIndex
from everthread.recipes.goodai.word_index import WordIndex
from everthread.scribes.base import Scribe
from everthread.text.encoding import make_encodable
from everthread.text.tokenized_text import Text
from everthread.types import Line, Metadata, Vectors, now

log = logging.getLogger("everthread")

NONE = "none"  # the name of no embedder: chunks are found by their words
EMBEDDER_FAILURES = (
    EmbedderUnavailable,
    RuntimeError,
    OSError,
)  # how embedders fail; the last two are how torch and sockets do
RERANKING_K_FACTOR = 10.0  # candidates a passage asked for, where they are scored anew
VERSION = 1  # of the state as text
BATCH_CHUNKS = 256  # chunks embedded at a time


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage that was found.

    distance is that of its chunk, 2 − 2 cos, from 0 to 4; None where the chunk was found by its words. confidence is
    the matcher's probability that the chunk answers the query; None without a matcher. relevance is that probability,
    else 1 − distance / 4, else the share of the query's words that the chunk holds. keys are of the texts that the
    chunk holds some of; metadata and timestamp are of the one that it holds most of.
    """

    passage: str
    distance: float | None
    relevance: float
    confidence: float | None
    metadata: Metadata
    timestamp: datetime | None
    keys: tuple[int, ...]

    @property
    def by_words(self) -> bool:
        """Whether it was found by its words, because no embedder answered."""
        return self.distance is None


@dataclass(frozen=True, slots=True)
class _Candidate:
    chunk: Chunk
    passage: Passage
    distance: float | None
    near: float  # 0..1: 1 − distance / 4, or the share of the query's words
    confidence: float | None = None

    @property
    def relevance(self) -> float:
        return self.near if self.confidence is None else self.confidence


class TextMemory:
    """Texts that are found again by what they mean. `create` makes one with what ships.

    The embedder may give several vectors a text, (N, E, D), and a query, (Q, D): the nearest pair counts. matcher
    scores reranking_k_factor times as many candidates anew, by their chunks. weighing orders what was found by
    relevance, recency and importance. scribe rewrites queries and texts, and rates importance where weighing uses it.
    """

    def __init__(
        self,
        queue: ChunkQueue,
        embedder: Embedder | None,
        tokenizer: Any = word_pieces,
        expansion: Expansion = SENTENCE,
        redundancy: float = REDUNDANCY,
        matcher: Matcher | str | None = None,
        reranking_k_factor: float = RERANKING_K_FACTOR,
        weighing: ScoreWeights | None = None,
        scribe: Scribe | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        if not 0 < redundancy <= 1:
            raise ConfigError(f"redundancy can't be {redundancy}; give a share above 0 and up to 1")
        if reranking_k_factor < 1:
            raise ConfigError(f"reranking_k_factor can't be {reranking_k_factor}; give at least 1")
        self._queue = queue
        self._embedder = embedder
        self._tokenizer: Tokenizer = tokenizers.open_tokenizer(tokenizer)
        self._expansion = expansion
        self._redundancy = redundancy
        self._matcher = matching.resolve_matcher(matcher)
        self._factor = reranking_k_factor
        self._weighing = weighing
        self._scribe = scribe
        self._clock = clock
        self._nearest = VectorIndex()
        self._words = WordIndex()  # of the chunks, as far as they were searched by their words
        self._waiting = dict.fromkeys(queue.ids())  # chunks without a vector of what they hold now

    @classmethod
    def create(
        cls,
        emb_model: Embedder | str | None = None,
        *,
        matching_model: Matcher | str | None = None,
        device: object = None,
        chunk_capacity: int = chunk_queue.CHUNK_TOKENS,
        overlap: float = chunk_queue.OVERLAP,
        queue_capacity: int = chunk_queue.MAX_CHUNKS,
        **options: Any,
    ) -> TextMemory:
        """Makes an empty memory.

        Args:
            emb_model: an embedder or its name, such as `minilm`, `st:NAME` or `openai:NAME`; `none` for none, then
                texts are found by their words. Without one, the configured embedder.
            matching_model: a matching model or its name: `em:EMBEDDER` or `st:CROSS_ENCODER`. Without one, candidates
                keep their order.
            device: where torch runs the sentence-transformers models among these: `cuda`, `cuda:1`, `mps`, `cpu`.
            chunk_capacity: tokens of a chunk.
            overlap: share of a chunk that the next one holds again.
            queue_capacity: chunks; beyond it the oldest goes.
            options: those of the constructor.

        Raises:
            BadInput, ConfigError: for impossible numbers and unknown names, and a device where torch runs neither.
        """
        if "embedder" in options:  # the parameter's name in 0.1.0
            if emb_model is not None:
                raise BadInput("emb_model and embedder name the same thing; give one of them")
            emb_model = options.pop("embedder")
        if matching_model is not None:
            where = device if matching.runs_on_torch(matching_model) else None
            options["matcher"] = matching.resolve_matcher(matching_model, device=where)
        elsewhere = matching.runs_on_torch(matching_model) and not names.is_on_torch(emb_model)
        model = _embedder(emb_model, None if elsewhere else device)
        return cls(ChunkQueue(chunk_capacity, overlap, queue_capacity), model, **options)

    def add_text(
        self,
        text: str,
        metadata: Metadata | None = None,
        timestamp: datetime | float | None = None,
        *,
        importance: int | None = None,
        context: Sequence[Line] | str | None = None,
        separate: bool = False,
    ) -> int:
        """Remembers a text, right after the last one.

        Args:
            text: the text. Nothing is put between two texts: end one with a line break, call `add_separator`, or give
                separate.
            metadata: anything that JSON can hold.
            timestamp: a moment, or seconds since 1970, as time.time() gives; None means now.
            importance: from 1 to 10; where it is None and counts, the scribe rates it.
            context: what was said before, as lines or as a text ("Ida: Hello. Ben: …"): the scribe then rewrites the
                text so that it can be understood alone.
            separate: whether no chunk and no passage may hold this text and another.

        Returns:
            The text's key.

        Raises:
            BadInput: for a text, metadata, time or importance that can't be kept.
            ConfigError: where a scribe is needed. ModelError: where the scribe fails.
        """
        text = make_encodable(_str(text))
        if context is not None:
            text = self._require_scribe("context").rewrite_memory(text, parse_lines(context, self._clock()))
        at = self._clock() if timestamp is None else _moment(timestamp)
        rated = self._rate_importance(text, importance)
        if separate:
            self._queue.separate()
        key, changes = self._queue.add(text, self._tokenizer(text), metadata, at, rated)
        if separate:
            self._queue.separate()
        self._track(changes)
        return key

    def replace_text(
        self,
        key: int,
        text: str,
        metadata: Metadata | None = None,
        timestamp: datetime | float | None = None,
        *,
        importance: int | None = None,
    ) -> None:
        """Put another text in the place of one. The key stays; so do metadata and time, unless others are given.

        Raises NotFound for a key that isn't there, and what `add_text` raises.
        """
        old, text = self._queue.get(key), make_encodable(_str(text))
        changes = self._queue.replace(
            key,
            text,
            self._tokenizer(text),
            old.metadata if metadata is None else metadata,
            old.timestamp if timestamp is None else _moment(timestamp),
            self._rate_importance(text, importance),
        )
        self._track(changes)

    def delete_text(self, key: int) -> None:
        """Forget a text, and no other. Raises NotFound for a key that isn't there."""
        self._track(self._queue.delete(key))

    def get_text(self, key: int) -> str:
        """A text as it was added; of one whose beginning had to make room, the rest. Raises NotFound."""
        return self._queue.get(key).text

    def add_separator(self) -> None:
        """Let no chunk and no passage hold both the last text and the next one."""
        self._queue.separate()

    @property
    def embedder_name(self) -> str:
        """The name of the embedder, `none` where there is no embedder."""
        return NONE if self._embedder is None else self._embedder.name

    def is_empty(self) -> bool:
        return len(self._queue) == 0

    def clear(self) -> None:
        """Forget every text. Keys of before are not given again."""
        self._queue.clear()
        self._nearest = VectorIndex()
        self._words = WordIndex()
        self._waiting = {}

    def dump(self) -> str:
        """The chunks as a table in Markdown, the oldest first, to be read by people."""
        rows = ["| Id | Texts | Time | Metadata | Content |", "| -- | ----- | ---- | -------- | ------- |"]
        for chunk in map(self._queue.chunk, self._queue.ids()):
            text = self._queue.get(chunk.main)
            at = "" if text.timestamp is None else text.timestamp.isoformat(" ", "minutes")
            cells = (chunk.id, ", ".join(map(str, chunk.keys)), at, _json(text.metadata), _json(chunk.text))
            rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(rows) + "\n"

    def retrieve(
        self, query: str, k: int = 1, context: Sequence[Line] | str | None = None, *, rewrite: bool = False
    ) -> list[Retrieved]:
        """Finds the k passages that fit a query best, fewer where there are no more, none in an empty memory.

        Where no embedder answers, they are found by their words, and their distance is None.

        Args:
            query: the query.
            k: how many passages, at least 1.
            context: what was said before, as lines or as a text ("Ida: Hello. Ben: …"): the scribe then rewrites the
                query so that it can be understood alone.
            rewrite: whether the query is a dialogue as one text, whose last turn or sentence asks: what comes before is
                then the context.

        Raises:
            BadQuery: for an impossible k. ConfigError: where a scribe is needed. ModelError: where a model gives what
            can't be used, and where the scribe fails.
        """
        return self.retrieve_multiple([query], k, context, rewrite=rewrite)[0]

    def retrieve_multiple(
        self, queries: Sequence[str], k: int = 1, context: Sequence[Line] | str | None = None, *, rewrite: bool = False
    ) -> list[list[Retrieved]]:
        """Finds what `retrieve` finds, for each of the queries."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise BadQuery(f"can't retrieve {k!r} passages; give a whole number from 1")
        if isinstance(queries, str):
            raise BadQuery(f"queries must be a list, got the text {queries!r}; call retrieve for one query")
        asked = [make_encodable(_str(query)) for query in queries]
        if context is not None or rewrite:
            asked = [self._rewrite_query(query, context) for query in asked]
        if self.is_empty():
            return [[] for _ in asked]
        return [self._retrieve(query, k) for query in asked]

    def to_text(self) -> str:
        """All of it as JSON: texts, chunks and vectors. The constructor's options are not in it."""
        ids, vectors = self._nearest.all()
        kept = {
            "embedder": self.embedder_name,
            "ids": ids.tolist(),
            "waiting": list(self._waiting),
            "shape": list(vectors.shape),
            "data": base64.b64encode(np.ascontiguousarray(vectors, "<f4").tobytes()).decode(),
        }
        return json.dumps(
            {"everthread": "TextMemory", "version": VERSION, "queue": self._queue.state(), "vectors": kept}
        )

    @classmethod
    def from_text(cls, text: str, embedder: Embedder | str | None = None, **options: Any) -> TextMemory:
        """The memory that `to_text` wrote, every key as it was. options are those of the constructor.

        With another embedder than it was written with, the chunks are embedded anew when they are first searched.
        Raises BadInput for a text that `to_text` did not write, or that is damaged.
        """
        try:
            state = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise BadInput(f"this is no memory written by to_text ({error}); give its text as it was") from error
        if not isinstance(state, dict) or state.get("version") != VERSION or state.get("everthread") != "TextMemory":
            version = state.get("version") if isinstance(state, dict) else None
            raise BadInput(f"this is no memory of version {VERSION} but of {version!r}; write it anew with to_text")
        memory = cls(ChunkQueue.from_state(state.get("queue", {})), _embedder(embedder), **options)
        try:
            memory._read(state["vectors"])
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise BadInput(f"the vectors of this memory are damaged ({error}); restore it from a copy") from error
        return memory

    def _read(self, kept: dict[str, Any]) -> None:
        """Take over the vectors of a state: those of this embedder whose chunks are there."""
        if kept["embedder"] != self.embedder_name:
            return
        data = np.frombuffer(base64.b64decode(kept["data"], validate=True), "<f4").astype(np.float32)
        vectors = data.reshape(kept["shape"])  # (N, E, D)
        if len(vectors) != len(kept["ids"]):
            raise ValueError(f"{len(vectors)} for {len(kept['ids'])} chunks")
        stale = set(kept["waiting"])
        known = [place for place, id in enumerate(kept["ids"]) if id in self._queue]
        ids = [kept["ids"][place] for place in known]
        self._nearest.put(ids, vectors[known])
        for id in ids:
            if id not in stale:
                del self._waiting[id]

    def _track(self, changes: Changes) -> None:
        """Keep no vector whose chunk is gone; embed what has changed when it is next searched."""
        self._nearest.drop(changes.gone)
        self._words.drop((*changes.gone, *changes.changed))
        for id in changes.gone:
            self._waiting.pop(id, None)
        self._waiting.update(dict.fromkeys((*changes.appeared, *changes.changed)))

    def _embed(self, embedder: Embedder) -> None:
        """Embed what is waiting, part by part: what is done stays done where the embedder fails."""
        while ids := list(islice(self._waiting, BATCH_CHUNKS)):
            texts = [self._queue.chunk(id).text for id in ids]
            vectors = np.asarray(embedder.embed(texts), np.float32)
            if len(vectors) != len(ids) or vectors.ndim not in (2, 3):
                raise ModelError(
                    f"{embedder.name} gave vectors of the shape {vectors.shape} for {len(ids)} texts; it must "
                    "give (texts, dimensions) or (texts, vectors a text, dimensions)"
                )
            self._nearest.put(ids, vectors.reshape(len(ids), -1, vectors.shape[-1]))
            for id in ids:
                del self._waiting[id]

    def _retrieve(self, query: str, k: int) -> list[Retrieved]:
        candidates = self._candidates(query)
        if self._matcher is None and self._weighing is None:
            return [self._to_retrieved(each) for _, each in islice(drop_redundant(candidates, self._redundancy), k)]
        wanted = math.ceil(k * self._factor)
        pool = [each for _, each in collect_candidates(candidates, wanted, self._redundancy)]
        if self._matcher is not None:
            pool = self._rerank(query, pool, self._matcher)
        best = [
            each
            for _, each in islice(drop_redundant(((each.passage, each) for each in pool), self._redundancy), wanted)
        ]
        if self._weighing is not None:
            best = self._weigh(best, self._weighing)
        return [self._to_retrieved(each) for each in best[:k]]

    def _candidates(self, query: str) -> Iterator[tuple[Passage, _Candidate]]:
        """Chunks with their passages, from the nearest on; by their words where no embedder answers."""
        near = self._by_meaning(query)
        for id, distance, share in self._by_words(query) if near is None else near:
            chunk = self._queue.chunk(id)
            passage = expand(self._queue, chunk, self._expansion)
            yield passage, _Candidate(chunk, passage, distance, share)

    def _by_meaning(self, query: str) -> Iterable[tuple[int, float | None, float]] | None:
        """Ids with their distance and nearness; None where there is no embedder, or it doesn't answer."""
        if self._embedder is None:
            return None
        try:
            self._embed(self._embedder)
            found = self._nearest.near(_rows(self._embedder.embed_query(query)))
        except EMBEDDER_FAILURES as error:
            log.warning("passages are found by their words, without an embedder: %s", error)
            return None
        return ((id, distance, 1 - distance / 4) for id, distance in found)

    def _by_words(self, query: str) -> Iterable[tuple[int, float | None, float]]:
        for id in self._queue.ids():
            if id not in self._words:
                self._words.put(id, self._queue.chunk(id).text)
        return ((id, None, share) for id, share in self._words.near(query))

    def _rerank(self, query: str, pool: list[_Candidate], matcher: Matcher) -> list[_Candidate]:
        scores = predict_confidences(matcher, query, [each.chunk.text for each in pool])
        rated = [replace(each, confidence=score) for each, score in zip(pool, scores, strict=True)]
        return sorted(rated, key=lambda each: -each.relevance)

    def _weigh(self, found: list[_Candidate], weighing: ScoreWeights) -> list[_Candidate]:
        present = self._clock()

        def score(each: _Candidate) -> float:
            text = self._queue.get(each.chunk.main)
            age = None if text.timestamp is None else present - text.timestamp
            return weighing.score(each.relevance, age, text.importance)

        return sorted(found, key=lambda each: -score(each))

    def _to_retrieved(self, found: _Candidate) -> Retrieved:
        text: Text = self._queue.get(found.chunk.main)
        return Retrieved(
            found.passage.text,
            found.distance,
            found.relevance,
            found.confidence,
            text.metadata,
            text.timestamp,
            found.chunk.keys,
        )

    def _rate_importance(self, text: str, importance: int | None) -> int | None:
        counts = self._weighing is not None and self._weighing.importance != 0
        if importance is None and counts and self._scribe is not None:
            return self._scribe.rate_importance(text)
        return importance

    def _rewrite_query(self, query: str, context: Sequence[Line] | str | None) -> str:
        """The query so that it can be understood alone; without a context, what is before its last turn is that."""
        writer = self._require_scribe("rewrite" if context is None else "context")
        before, asked = split_last_turn(query) if context is None else (context, query)
        return writer.rewrite_query(asked, parse_lines(before, self._clock()))

    def _require_scribe(self, what: str) -> Scribe:
        if self._scribe is None:
            raise ConfigError(f"{what} was given, but there is no scribe to rewrite with; give the memory one")
        return self._scribe


def _embedder(given: Embedder | str | None, device: object = None) -> Embedder | None:
    return None if given == NONE else names.open_embedder(given, device=device)


def _moment(given: datetime | float) -> datetime:
    """A moment as it is, or of seconds since 1970. Raises BadInput."""
    if isinstance(given, datetime):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(given, UTC)
    raise BadInput(f"invalid timestamp {given!r}: expected a datetime, or seconds since 1970 as time.time() gives")


def _rows(vectors: Vectors) -> Vectors:
    """One vector or several as (Q, D)."""
    found = np.asarray(vectors, np.float32)
    return found.reshape(-1, found.shape[-1])


def _str(text: object) -> str:
    if not isinstance(text, str):
        raise BadInput(f"a text must be a str, got {type(text).__name__}: {text!r}")
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
