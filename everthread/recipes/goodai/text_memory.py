"""TextMemory: the API of goodai-ltm's library. It stores texts and retrieves passages, in this process's memory.

Chunks (`chunk_queue.py`) are embedded when they are first searched, so a text that is added in parts is embedded once.
A query finds the nearest chunks; each grows to a passage (`expansion.py`), and redundant passages are left out. Without
an embedder, or while it can't be reached, chunks are found by their words. It uses neither banks nor sessions. Not
thread-safe.
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
from everthread.embedders.shapes import scale_to_unit
from everthread.errors import BadInput, BadQuery, ConfigError, EmbedderUnavailable, ModelError, raised_as
from everthread.recall.recency_importance import ScoreWeights
from everthread.recipes.goodai import chunk_queue, cutting, matching, tokenizers
from everthread.recipes.goodai.chunk_queue import Changes, Chunk, ChunkQueue
from everthread.recipes.goodai.dialogue import find_question, parse_lines, split_last_turn
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

NONE = "none"  # in place of an embedder's name, for a memory that finds chunks by their words
RERANKING_K_FACTOR = 10.0  # candidates per requested passage, if candidates are scored again
VERSION = 1  # of the saved state
BATCH_CHUNKS = 256  # embedded at a time


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage that was found for a query.

    Attributes:
        passage: the text of the passage.
        distance: the distance of its chunk, 2 − 2 cos, from 0 to 4; None if the chunk was found by its words.
        relevance: the confidence, else 1 − distance / 4, else the share of the query's words in the chunk.
        confidence: the matcher's probability that the chunk answers the query; None without a matcher.
        metadata: the metadata of the text with most tokens in the chunk.
        timestamp: the time of the same text.
        keys: the keys of the texts with tokens in the chunk.
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
        """True if the passage was found by its words, because no embedder answered."""
        return self.distance is None


@dataclass(frozen=True, slots=True)
class _Candidate:
    chunk: Chunk
    passage: Passage
    distance: float | None
    nearness: float  # 0..1: 1 − distance / 4, or the share of the query's words
    confidence: float | None = None

    @property
    def relevance(self) -> float:
        return self.nearness if self.confidence is None else self.confidence


class TextMemory:
    """Stores texts in this process and finds passages by meaning. `create` builds one with the shipped models."""

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
        question_vector: bool = True,
    ) -> None:
        """Create a memory.

        Args:
            queue: the chunk queue.
            embedder: may return several vectors per text, (N, E, D), and per query, (Q, D): the nearest pair counts.
            tokenizer: anything that `tokenizers.open_tokenizer` accepts.
            expansion: how chunks grow to passages.
            redundancy: a passage is left out if better ones contain at least this share of it.
            matcher: scores candidates again by the texts of their chunks.
            reranking_k_factor: candidates per requested passage, if candidates are scored again.
            weighing: orders passages by relevance, recency and importance.
            scribe: rewrites queries and texts, and rates importance if `weighing` uses it.
            clock: returns the time.
            question_vector: whether the sentence of a query that asks is also embedded alone; the nearer vector counts.

        Raises:
            ConfigError: a number, the tokenizer or the matcher is invalid.
        """
        if not 0 < redundancy <= 1:
            raise ConfigError(f"invalid redundancy {redundancy}; expected a share above 0 and up to 1")
        if reranking_k_factor < 1:
            raise ConfigError(f"invalid reranking_k_factor {reranking_k_factor}; expected at least 1")
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
        self._question_vector = question_vector
        self._vectors = VectorIndex()
        self._words = WordIndex()  # of the chunks; a chunk is added when it is first searched by its words
        self._waiting = dict.fromkeys(queue.ids())  # chunks without a vector of their current text

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
        boundary: str = cutting.LINE,
        **options: Any,
    ) -> TextMemory:
        """Create an empty memory.

        Args:
            emb_model: an embedder or its name, such as `minilm`, `st:NAME` or `openai:NAME`; with `none`, texts are
                found by their words. Default: the configured embedder.
            matching_model: a matching model or its name: `em:EMBEDDER` or `st:CROSS_ENCODER`. Without one, candidates
                keep their order.
            device: where torch runs the sentence-transformers models among these: `cuda`, `cuda:1`, `mps`, `cpu`.
            chunk_capacity: tokens of a chunk.
            overlap: share of a chunk that the next one repeats.
            queue_capacity: maximum number of chunks; beyond it the oldest is evicted.
            boundary: what no chunk crosses: `line`, the end of a line, or `none`, as in goodai-ltm.
            options: arguments of the constructor.

        Raises:
            BadInput, ConfigError: a number or name is invalid, or a device is given but torch runs neither model.
        """
        if "embedder" in options:  # the name of `emb_model` in 0.1.0
            if emb_model is not None:
                raise BadInput("emb_model and embedder are the same argument; give only one of them")
            emb_model = options.pop("embedder")
        if matching_model is not None:
            matcher_device = device if matching.runs_on_torch(matching_model) else None
            options["matcher"] = matching.resolve_matcher(matching_model, device=matcher_device)
        only_matcher = matching.runs_on_torch(matching_model) and not names.is_on_torch(emb_model)
        embedder = _embedder(emb_model, None if only_matcher else device)
        return cls(ChunkQueue(chunk_capacity, overlap, queue_capacity, boundary), embedder, **options)

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
        """Append a text.

        Args:
            text: the text. Nothing separates two texts by default: end one with a line break, call `add_separator`, or
                set `separate`.
            metadata: any JSON-serialisable mapping.
            timestamp: a datetime, or seconds since 1970, as time.time() returns. Default: now.
            importance: from 1 to 10. Default: rated by the scribe, if `weighing` uses it.
            context: the lines before, as lines or as a text ("Ida: Hello. Ben: …"): the scribe then rewrites the text
                so that it can be understood alone.
            separate: keep this text out of chunks and passages with others.

        Returns:
            The text's key.

        Raises:
            BadInput: the text, metadata, time or importance is invalid.
            ConfigError: a scribe is needed, but the memory has none.
            ModelError: the scribe fails.
        """
        text = make_encodable(_check_text(text))
        if context is not None:
            text = self._require_scribe("context").rewrite_memory(text, parse_lines(context, self._clock()))
        at = self._clock() if timestamp is None else _to_datetime(timestamp)
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
        """Replace a text. The key stays; so do metadata and time, unless others are given.

        Arguments and errors are those of `add_text`.

        Raises:
            NotFound: there is no text with this key.
        """
        old, text = self._queue.get(key), make_encodable(_check_text(text))
        changes = self._queue.replace(
            key,
            text,
            self._tokenizer(text),
            old.metadata if metadata is None else metadata,
            old.timestamp if timestamp is None else _to_datetime(timestamp),
            self._rate_importance(text, importance),
        )
        self._track(changes)

    def delete_text(self, key: int) -> None:
        """Delete a text. Raises NotFound if there is no text with this key."""
        self._track(self._queue.delete(key))

    def get_text(self, key: int) -> str:
        """Return a text, without its evicted beginning, if any. Raises NotFound."""
        return self._queue.get(key).text

    def add_separator(self) -> None:
        """Separate the last text from the next one: no chunk or passage contains both."""
        self._queue.separate()

    @property
    def embedder_name(self) -> str:
        """The name of the embedder; `none` without one."""
        return NONE if self._embedder is None else self._embedder.name

    def is_empty(self) -> bool:
        return len(self._queue) == 0

    def clear(self) -> None:
        """Delete all texts. Their keys are not reused."""
        self._queue.clear()
        self._vectors = VectorIndex()
        self._words = WordIndex()
        self._waiting = {}

    def dump(self) -> str:
        """Return the chunks as a Markdown table for people, the oldest first."""
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
        """Find the passages that fit a query best.

        If no embedder answers, passages are found by their words, and their distance is None.

        Args:
            query: the query.
            k: maximum number of passages, at least 1.
            context: the lines before, as lines or as a text ("Ida: Hello. Ben: …"): the scribe then rewrites the query
                so that it can be understood alone.
            rewrite: the query is a dialogue as one text; its last turn or sentence is rewritten as the query, and the
                text before it is the context.

        Raises:
            BadQuery: k is invalid.
            ConfigError: a scribe is needed, but the memory has none.
            ModelError: a model returns invalid values, or the scribe fails.
        """
        return self.retrieve_multiple([query], k, context, rewrite=rewrite)[0]

    def retrieve_multiple(
        self, queries: Sequence[str], k: int = 1, context: Sequence[Line] | str | None = None, *, rewrite: bool = False
    ) -> list[list[Retrieved]]:
        """Find passages for each query, with the arguments and errors of `retrieve`."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise BadQuery(f"invalid number of passages {k!r}; expected a whole number from 1")
        if isinstance(queries, str):
            raise BadQuery(f"queries must be a list, got the text {queries!r}; call retrieve for one query")
        texts = [make_encodable(_check_text(query)) for query in queries]
        is_rewritten = context is not None or rewrite
        if is_rewritten:
            texts = [self._rewrite_query(text, context) for text in texts]
        if self.is_empty():
            return [[] for _ in texts]
        return [self._retrieve(text, k, is_rewritten) for text in texts]

    def to_text(self) -> str:
        """Return texts, chunks and vectors as JSON, without the constructor's options."""
        ids, vectors = self._vectors.all()
        vector_state = {
            "embedder": self.embedder_name,
            "ids": ids.tolist(),
            "waiting": list(self._waiting),
            "shape": list(vectors.shape),
            "data": base64.b64encode(np.ascontiguousarray(vectors, "<f4").tobytes()).decode(),
        }
        return json.dumps(
            {"everthread": "TextMemory", "version": VERSION, "queue": self._queue.state(), "vectors": vector_state}
        )

    @classmethod
    def from_text(cls, text: str, embedder: Embedder | str | None = None, **options: Any) -> TextMemory:
        """Restore a memory from what `to_text` returned.

        Args:
            text: the JSON.
            embedder: an embedder or its name. If it is not the one that embedded the chunks, they are embedded again
                when they are first searched.
            options: arguments of the constructor.

        Raises:
            BadInput: the text is damaged, or not from `to_text`.
        """
        try:
            state = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise BadInput(f"invalid memory: not written by to_text ({error}); give its output unchanged") from error
        if not isinstance(state, dict) or state.get("version") != VERSION or state.get("everthread") != "TextMemory":
            version = state.get("version") if isinstance(state, dict) else None
            raise BadInput(f"invalid memory: got version {version!r}, expected {VERSION}; write it again with to_text")
        memory = cls(ChunkQueue.from_state(state.get("queue", {})), _embedder(embedder), **options)
        try:
            memory._restore_vectors(state["vectors"])
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise BadInput(f"the vectors of this memory are damaged ({error}); restore it from a copy") from error
        return memory

    def _restore_vectors(self, state: dict[str, Any]) -> None:
        """Restore the vectors of the chunks that exist, if this embedder computed them."""
        if state["embedder"] != self.embedder_name:
            return
        data = np.frombuffer(base64.b64decode(state["data"], validate=True), "<f4").astype(np.float32)
        vectors = data.reshape(state["shape"])  # (N, E, D)
        if len(vectors) != len(state["ids"]):
            raise ValueError(f"{len(vectors)} for {len(state['ids'])} chunks")
        stale = set(state["waiting"])
        indexes = [index for index, id in enumerate(state["ids"]) if id in self._queue]
        ids = [state["ids"][index] for index in indexes]
        self._vectors.put(ids, vectors[indexes])
        for id in ids:
            if id not in stale:
                del self._waiting[id]

    def _track(self, changes: Changes) -> None:
        """Drop the vectors of removed chunks, and mark created and changed chunks for embedding."""
        self._vectors.drop(changes.removed)
        self._words.drop((*changes.removed, *changes.changed))
        for id in changes.removed:
            self._waiting.pop(id, None)
        self._waiting.update(dict.fromkeys((*changes.appeared, *changes.changed)))

    def _embed(self, embedder: Embedder) -> None:
        """Embed the waiting chunks in batches; if the embedder fails, the finished batches stay."""
        while ids := list(islice(self._waiting, BATCH_CHUNKS)):
            texts = [self._queue.chunk(id).text for id in ids]
            with raised_as(EmbedderUnavailable, embedder.name):
                vectors = np.asarray(embedder.embed(texts), np.float32)
            if len(vectors) != len(ids) or vectors.ndim not in (2, 3):
                raise ModelError(
                    f"{embedder.name} returned vectors of shape {vectors.shape} for {len(ids)} texts; expected "
                    "(texts, dimensions) or (texts, vectors per text, dimensions)"
                )
            self._vectors.put(ids, scale_to_unit(vectors.reshape(len(ids), -1, vectors.shape[-1])))
            for id in ids:
                del self._waiting[id]

    def _retrieve(self, query: str, k: int, is_rewritten: bool) -> list[Retrieved]:
        candidates = self._candidates(query, is_rewritten)
        if self._matcher is None and self._weighing is None:
            best = [candidate for _, candidate in islice(drop_redundant(candidates, self._redundancy), k)]
            return [self._to_retrieved(candidate) for candidate in best]
        count = math.ceil(k * self._factor)
        pool = [candidate for _, candidate in collect_candidates(candidates, count, self._redundancy)]
        if self._matcher is not None:
            pool = self._rerank(query, pool, self._matcher)
        with_passages = ((candidate.passage, candidate) for candidate in pool)
        best = [candidate for _, candidate in islice(drop_redundant(with_passages, self._redundancy), count)]
        if self._weighing is not None:
            best = self._weigh(best, self._weighing)
        return [self._to_retrieved(candidate) for candidate in best[:k]]

    def _candidates(self, query: str, is_rewritten: bool) -> Iterator[tuple[Passage, _Candidate]]:
        """Yield passages with their chunks, the nearest first; if no embedder answers, by their words."""
        nearest = self._search_vectors(query, is_rewritten)
        for id, distance, share in self._search_words(query) if nearest is None else nearest:
            chunk = self._queue.chunk(id)
            passage = expand(self._queue, chunk, self._expansion)
            yield passage, _Candidate(chunk, passage, distance, share)

    def _search_vectors(self, query: str, is_rewritten: bool) -> Iterable[tuple[int, float | None, float]] | None:
        """Return ids with their distance and nearness; None if no embedder answers."""
        if self._embedder is None:
            return None
        try:
            self._embed(self._embedder)
            found = self._vectors.search(self._embed_query(self._embedder, query, is_rewritten))
        except EmbedderUnavailable as error:
            log.warning("passages are found by their words because the embedder failed: %s", error)
            return None
        return ((id, distance, 1 - distance / 4) for id, distance in found)

    def _embed_query(self, embedder: Embedder, query: str, is_rewritten: bool) -> Vectors:
        """Embed a query, and beside one that was not rewritten the sentence that asks: (Q, D)."""
        question = find_question(query) if self._question_vector and not is_rewritten else query
        texts = [query] if question in ("", query.strip()) else [query, question]
        with raised_as(EmbedderUnavailable, embedder.name):
            return scale_to_unit(np.vstack([_as_matrix(embedder.embed_query(text)) for text in texts]))

    def _search_words(self, query: str) -> Iterable[tuple[int, float | None, float]]:
        for id in self._queue.ids():
            if id not in self._words:
                self._words.put(id, self._queue.chunk(id).text)
        return ((id, None, share) for id, share in self._words.search(query))

    def _rerank(self, query: str, pool: list[_Candidate], matcher: Matcher) -> list[_Candidate]:
        scores = predict_confidences(matcher, query, [candidate.chunk.text for candidate in pool])
        rated = [replace(candidate, confidence=score) for candidate, score in zip(pool, scores, strict=True)]
        return sorted(rated, key=lambda candidate: -candidate.relevance)

    def _weigh(self, candidates: list[_Candidate], weighing: ScoreWeights) -> list[_Candidate]:
        present = self._clock()

        def score(candidate: _Candidate) -> float:
            text = self._queue.get(candidate.chunk.main)
            age = None if text.timestamp is None else present - text.timestamp
            return weighing.score(candidate.relevance, age, text.importance)

        return sorted(candidates, key=lambda candidate: -score(candidate))

    def _to_retrieved(self, candidate: _Candidate) -> Retrieved:
        text: Text = self._queue.get(candidate.chunk.main)
        return Retrieved(
            candidate.passage.text,
            candidate.distance,
            candidate.relevance,
            candidate.confidence,
            text.metadata,
            text.timestamp,
            candidate.chunk.keys,
        )

    def _rate_importance(self, text: str, importance: int | None) -> int | None:
        is_weighed = self._weighing is not None and self._weighing.importance != 0
        if importance is None and is_weighed and self._scribe is not None:
            return self._scribe.rate_importance(text)
        return importance

    def _rewrite_query(self, query: str, context: Sequence[Line] | str | None) -> str:
        """Rewrite a query so that it can be understood alone; the default context is the text before its last turn."""
        writer = self._require_scribe("rewrite" if context is None else "context")
        before, question = split_last_turn(query) if context is None else (context, query)
        return writer.rewrite_query(question, parse_lines(before, self._clock()))

    def _require_scribe(self, argument: str) -> Scribe:
        if self._scribe is None:
            raise ConfigError(f"{argument} was given, but the memory has no scribe; pass scribe= to the constructor")
        return self._scribe


def _embedder(given: Embedder | str | None, device: object = None) -> Embedder | None:
    return None if given == NONE else names.open_embedder(given, device=device)


def _to_datetime(given: datetime | float) -> datetime:
    """Convert a datetime, or seconds since 1970, to a datetime. Raises BadInput."""
    if isinstance(given, datetime):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(given, UTC)
    raise BadInput(f"invalid timestamp {given!r}: expected a datetime, or seconds since 1970, as time.time() returns")


def _as_matrix(vectors: Vectors) -> Vectors:
    """Return one vector or several as a (Q, D) matrix."""
    matrix = np.asarray(vectors, np.float32)
    return matrix.reshape(-1, matrix.shape[-1])


def _check_text(text: object) -> str:
    if not isinstance(text, str):
        raise BadInput(f"a text must be a str, got {type(text).__name__}: {text!r}")
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
