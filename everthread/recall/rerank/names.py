"""Opens rerankers and matching models by name."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

from everthread import config
from everthread.embedders import names
from everthread.embedders.base import Embedder
from everthread.embedders.encoder import FAILURES
from everthread.errors import BadInput, ConfigError
from everthread.llms.names import open_llm
from everthread.recall.rerank.base import KeywordOverlap, RecencyImportance, Reranker
from everthread.recall.rerank.models import MMR, CrossEncoder, EmbedderMatch, LLMVerdict
from everthread.scribes.names import open_scribe
from everthread.types import Hit, now

log = logging.getLogger("everthread")

EMBEDDER_PREFIX = "em:"  # an embedding model that matches, before its name
HALF_LIFE_DAYS = 30.0  # of `recency_importance`, where it is opened by name
RERANKER_NAMES = ("keywords", "mmr", "recency_importance", "verdict", "em:EMBEDDER", "st:NAME")


def open_reranker(spec: Reranker | str | None, embedder: Embedder) -> Reranker | None:
    """Open a reranker.

    Args:
        spec: a reranker as it is, or one of `NAMES`; None and "" for no reranker.
        embedder: the bank's embedder, by which `mmr` compares hits.

    Raises:
        ConfigError: for an unknown name.
        BadInput: for an object without `rerank`.
    """
    if not spec:
        return None
    if not isinstance(spec, str):
        if not callable(getattr(spec, "rerank", None)):
            raise BadInput(f"invalid reranker {type(spec).__name__}: it has no rerank(query, hits); expected one")
        return spec
    if spec == "keywords":
        return KeywordOverlap()
    if spec == "mmr":
        return MMR(embedder)
    if spec == "recency_importance":
        return RecencyImportance(now, HALF_LIFE_DAYS)
    if spec == "verdict":
        return LLMVerdict(open_scribe(open_llm()))
    if (model := _cached_matcher(spec)) is None:
        raise ConfigError(f"invalid reranker {spec!r}: expected one of {', '.join(RERANKER_NAMES)}")
    return model


def open_matcher(name: str, device: object = None) -> EmbedderMatch | CrossEncoder | None:
    """Open a matching model, `em:EMBEDDER` or `st:NAME`; None for another name.

    Args:
        name: its name.
        device: where torch runs it, as for `everthread.embedders.names.embedder`.

    Raises:
        ConfigError: for an unknown embedder.
    """
    if name.startswith(EMBEDDER_PREFIX):
        return EmbedderMatch(names.open_embedder(name.removeprefix(EMBEDDER_PREFIX), device=device))
    if model := names.strip_prefix(names.ST_PREFIXES, name):
        return CrossEncoder(model, device=str(device or config.load().device) or None)
    return None


@lru_cache(maxsize=8)
def _cached_matcher(name: str) -> EmbedderMatch | CrossEncoder | None:
    """Open a matching model once for all queries that name it: it takes seconds to load, and its memory once."""
    return open_matcher(name)


def rerank_hits(reranker: Reranker | None, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Put hits into a reranker's order; into the order given without one, and where its model fails."""
    if reranker is None or not hits:
        return list(hits)
    try:
        return reranker.rerank(query, hits)
    except FAILURES as error:
        log.warning("hits keep their order, for %s failed: %s", reranker.name, error)
        return list(hits)
