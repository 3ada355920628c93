"""Whether a line stands in a context, whoever laid it out: one criterion for lines, chunks, notes and summaries. Pure.

It does where its sentence stands there word for word; or else where goodai-ltm's measure of a fact in a passage holds
(`windows.py`): seven tenths of its tokens, in a row and in order.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache

from everthread.bench.fuzzy_match import contains_fact, normalize_tokens
from everthread.bench.goodai import MIN_SCORE
from everthread.recipes.goodai.tokenizers import piece_names
from everthread.text.analyzer import terms
from everthread.text.formatting import format_line
from everthread.types import Line

MAX_CACHED_TEXTS = 4096  # texts of lines whose tokens are kept in mind


class RenderedContext:
    """A context's text, as lines and words are looked up in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def holds(self, line: Line) -> bool:
        """Whether the line stands in it."""
        return bool(self.text) and (
            format_line(line) in self.text or contains_fact(_pieces(line.text), self._pieces, MIN_SCORE)
        )

    def share(self, words: Collection[str]) -> float:
        """The share of these terms that stand in it, from 0 to 1. ValueError for no terms."""
        if not words:
            raise ValueError("an answer without words can't be looked up; leave it out")
        return len(self._terms & set(words)) / len(set(words))

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        return normalize_tokens(piece_names(self.text))

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(terms(self.text))


@lru_cache(MAX_CACHED_TEXTS)
def _pieces(text: str) -> tuple[str, ...]:
    return normalize_tokens(piece_names(text))
