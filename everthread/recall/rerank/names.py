"""Opens rerankers and matching models by name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache

from everthread import config
from everthread.common.fork_safety import Lock
from everthread.embedders import names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, ConfigError, ModelError, raised_as
from everthread.llms.names import open_llm
from everthread.recall.rerank.base import KeywordOverlap, RecencyImportance, Reranker
from everthread.recall.rerank.models import MMR, CrossEncoder, EmbedderMatch, LLMVerdict
from everthread.scribes.names import open_scribe
from everthread.types import Hit, now

log = logging.getLogger("everthread")

EMBEDDER_PREFIX = "em:"  # before the name of an embedding model that is used as a matching model
HALF_LIFE_DAYS = 30.0  # of `recency_importance`, if it is opened by name
NO_RERANKING = ("none", "")
RERANKER_NAMES = ("none", "keywords", "mmr", "recency_importance", "verdict", "em:EMBEDDER", "st:NAME")


class RerankerOpener:
    """Opens rerankers for one memory. The language model of `verdict` is opened once and closed with the memory.

    Thread-safe.
    """

    def __init__(self, embedder: Embedder) -> None:
        """Start without an open reranker.

        Args:
            embedder: the bank's embedder, by which `mmr` compares hits.
        """
        self._embedder = embedder
        self._verdict: LLMVerdict | None = None
        self._lock = Lock()

    def open(self, spec: Reranker | str) -> Reranker | None:
        """Open a reranker.

        Args:
            spec: a reranker as it is, or one of `RERANKER_NAMES`.

        Returns:
            The reranker; None for "none" and for an empty name.

        Raises:
            ConfigError: the name is unknown.
            BadInput: the object has no `rerank`, or no name.
        """
        if not isinstance(spec, str):
            if not callable(getattr(spec, "rerank", None)):
                raise BadInput(f"invalid reranker {type(spec).__name__}: it has no rerank(query, hits); expected one")
            if not isinstance(getattr(spec, "name", None), str):
                raise BadInput(f"invalid reranker {type(spec).__name__}: it has no name; give it one, a str")
            return spec
        if spec in NO_RERANKING:
            return None
        if spec == "keywords":
            return KeywordOverlap()
        if spec == "mmr":
            return MMR(self._embedder)
        if spec == "recency_importance":
            return RecencyImportance(now, HALF_LIFE_DAYS)
        if spec == "verdict":
            return self._open_verdict()
        if (model := _cached_matcher(spec)) is None:
            raise ConfigError(f"unknown reranker {spec!r}; expected one of {', '.join(RERANKER_NAMES)}")
        return model

    def close(self) -> None:
        """Close the language model of `verdict`. The next query that names it opens it again."""
        with self._lock:
            self._verdict = None  # a language model closes its connections when it is garbage-collected

    def _open_verdict(self) -> LLMVerdict:
        with self._lock:
            if self._verdict is None:
                self._verdict = LLMVerdict(open_scribe(open_llm()))
            return self._verdict


def open_matcher(name: str, device: object = None) -> EmbedderMatch | CrossEncoder | None:
    """Open a matching model, `em:EMBEDDER` or `st:NAME`; None for another name.

    Args:
        name: the model's name, with its prefix.
        device: the device on which torch runs it, as for `everthread.embedders.names.open_embedder`.

    Raises:
        ConfigError: the embedder is unknown.
    """
    if name.startswith(EMBEDDER_PREFIX):
        return EmbedderMatch(names.open_embedder(name.removeprefix(EMBEDDER_PREFIX), device=device))
    if model := names.strip_prefix(names.ST_PREFIXES, name):
        return CrossEncoder(model, device=str(device or config.load().device) or None)
    return None


@lru_cache(maxsize=8)
def _cached_matcher(name: str) -> EmbedderMatch | CrossEncoder | None:
    """Open a matching model once for all queries that name it: it is large, and takes seconds to load."""
    return open_matcher(name)


def rerank_hits(reranker: Reranker | None, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Reorder hits by a reranker. Without a reranker, and if its model fails, hits keep their order."""
    if reranker is None or not hits:
        return list(hits)
    try:
        with raised_as(ModelError, "rerank"):
            return _check_hits(reranker.rerank(query, list(hits)), hits)
    except ModelError as error:
        log.warning("hits keep their order, because %s failed: %s", reranker.name, error)
        return list(hits)


def _check_hits(returned: object, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that a reranker returned as a list. Raises ModelError if they are not some of those it got."""
    sources = [hit.source for hit in hits]
    reranked: list[Hit] = []
    for hit in returned if isinstance(returned, Iterable) else [returned]:
        if not isinstance(hit, Hit) or hit.source not in sources:
            raise ModelError(f"rerank returned {type(hit).__name__}; expected a list of the hits that it was given")
        reranked.append(hit)
    return reranked
