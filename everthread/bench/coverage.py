"""Decides whether a context contains a line, by one criterion for lines, chunks, notes and summaries. Pure.

A context contains a line if it has the line's text verbatim, or if seven tenths of the line's tokens are contiguous and
in order in it, by goodai-ltm's measure of a fact in a passage (`fuzzy_match`).
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

MAX_CACHED_TEXTS = 4096  # texts of lines whose tokens are cached


class RenderedContext:
    """The text of a context, searchable by line and by words."""

    def __init__(self, text: str) -> None:
        self.text = text

    def holds(self, line: Line) -> bool:
        """Return whether the context contains the line."""
        return bool(self.text) and (
            format_line(line) in self.text or contains_fact(_split_pieces(line.text), self._split_pieces, MIN_SCORE)
        )

    def share(self, words: Collection[str]) -> float:
        """Return the share (0..1) of these terms that the context contains.

        Raises:
            ValueError: without terms.
        """
        if not words:
            raise ValueError("an answer without words can't be searched for; leave it out")
        return len(self._terms & set(words)) / len(set(words))

    @cached_property
    def _split_pieces(self) -> tuple[str, ...]:
        return normalize_tokens(piece_names(self.text))

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(terms(self.text))


def share_shown(shown: str, text: str, details: str = "") -> float:
    """Return how much (0..1) of what a question needs of a line is in the text that is shown of it.

    Args:
        shown: what a context shows of the line: its whole text, or an excerpt.
        text: the whole text.
        details: the words that the question needs, of which those count that the line has; "" for all of the line.
    """
    if shown == text:
        return 1.0
    whole = set(terms(text))
    needed = (whole.intersection(terms(details)) if details else whole) or whole
    return len(needed.intersection(terms(shown))) / len(needed) if needed else 0.0


@lru_cache(MAX_CACHED_TEXTS)
def _split_pieces(text: str) -> tuple[str, ...]:
    return normalize_tokens(piece_names(text))
