"""Opens and calls matching models, which estimate how well texts that were found for a query answer it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from everthread.embedders import names
from everthread.errors import BadInput, ConfigError, ModelError, raised_as
from everthread.recall.rerank.names import EMBEDDER_PREFIX, open_matcher


class Matcher(Protocol):
    """Estimates how well texts answer a query: a cross-encoder, another embedding model, a language model.

    This is the interface of goodai-ltm. A reranker of `recall.rerank` can't replace it, because that orders hits, while
    the recipe needs probabilities for passages before there are hits.
    """

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return for each pair of a query and a text the probability, 0..1, that the text answers the query."""
        ...


def resolve_matcher(given: Matcher | str | None, *, device: object = None) -> Matcher | None:
    """Open a matching model; None for None and "".

    Args:
        given: an object, or `em:EMBEDDER` (any name of an embedding model, such as `em:minilm`), or `st:NAME` (a
            cross-encoder of sentence-transformers).
        device: the device on which torch runs it, as for `everthread.embedders.names.open_embedder`.

    Raises:
        ConfigError: the name is unknown.
        BadInput: an object has no `predict`.
    """
    if not isinstance(given, str):
        if given is not None and not callable(getattr(given, "predict", None)):
            raise BadInput(f"invalid matching model {type(given).__name__}: it has no method predict(pairs)")
        return given
    if not given:
        return None
    if (model := open_matcher(given, device)) is not None:
        return model
    raise ConfigError(
        f"unknown matching model {given!r}; expected em:EMBEDDER, such as em:minilm, or st:NAME, a cross-encoder of "
        "sentence-transformers"
    )


def runs_on_torch(given: Matcher | str | None) -> bool:
    """Return whether torch runs the matching model of this name, so that it has a device."""
    return isinstance(given, str) and names.is_on_torch(given.removeprefix(EMBEDDER_PREFIX))


def predict_confidences(matcher: Matcher, query: str, texts: Sequence[str]) -> list[float]:
    """Return the matcher's probability for each text.

    Raises:
        ModelError: it fails, or doesn't return a probability for each text.
    """
    with raised_as(ModelError, "the matcher"):
        confidences = [float(value) for value in matcher.predict([(query, text) for text in texts])] if texts else []
    if len(confidences) != len(texts) or not all(math.isfinite(value) and 0 <= value <= 1 for value in confidences):
        raise ModelError(
            f"the matcher returned {len(confidences)} numbers for {len(texts)} texts: {confidences[:4]}; expected one "
            "probability from 0 to 1 per text"
        )
    return confidences
