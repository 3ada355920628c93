"""Prepares lines for a store: counts terms, sets flags, and embeds the lines of the recipe's roles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from everthread.common.keys import META_UNDATED
from everthread.embedders.embedded import EmbeddedText
from everthread.stores.base import PreparedLine
from everthread.text.analyzer import count_terms, remove_quotes
from everthread.text.line_features import UNDATED, line_flags
from everthread.types import NewLine, Role, now


def prepare_lines(
    lines: Sequence[NewLine],
    roles: Collection[Role],
    embed: Callable[[Sequence[str]], list[EmbeddedText] | None],
    token_roles: Collection[Role] = (),
) -> list[PreparedLine]:
    """Prepare lines for a store.

    Args:
        lines: the cleaned lines.
        roles: only lines of these roles are embedded now.
        embed: embeds texts, or returns None while no embedder answers.
        token_roles: of these only lines of these roles get the codes of their words.

    Returns:
        The prepared lines, in the same order.
    """
    texts = [remove_quotes(line.text, line.metadata) for line in lines]
    chosen = [index for index, line in enumerate(lines) if line.text and line.role in roles]
    embedded = embed([texts[index] for index in chosen]) if chosen else None
    by_index = dict(zip(chosen, embedded, strict=True)) if embedded else {}
    return [
        PreparedLine(
            line,
            line.said_at or now(),
            count_terms(text),
            _compute_flags(line, text),
            by_index[index].vectors if index in by_index else None,
            by_index[index].tokens if index in by_index and line.role in token_roles else None,
        )
        for index, (line, text) in enumerate(zip(lines, texts, strict=True))
    ]


def _compute_flags(line: NewLine, text: str) -> int:
    """Return the flags of a line and of its text without quotes."""
    return line_flags(text) | (UNDATED if line.metadata.get(META_UNDATED) is True else 0)
