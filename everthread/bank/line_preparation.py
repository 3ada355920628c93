"""Lines as a store takes them: analysed, and embedded as far as the recipe embeds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from everthread.stores.base import PreparedLine
from everthread.text.analyzer import count_terms, without_quotes
from everthread.text.line_features import flags
from everthread.types import NewLine, Role, Vectors, now


def prepare_lines(
    lines: Sequence[NewLine], roles: Collection[Role], embed: Callable[[Sequence[str]], list[Vectors] | None]
) -> list[PreparedLine]:
    """Prepare lines for a store.

    Args:
        lines: the lines, cleaned.
        roles: those whose lines are embedded now.
        embed: returns the vectors of the pieces of each text, or None while no embedder answers.

    Returns:
        What the store takes for each line, in their order.
    """
    texts = [without_quotes(line.text, line.metadata) for line in lines]
    chosen = [at for at, line in enumerate(lines) if line.role in roles]
    made = embed([texts[at] for at in chosen]) if chosen else None
    vectors = dict(zip(chosen, made, strict=True)) if made else {}
    return [
        PreparedLine(line, line.said_at or now(), count_terms(text), flags(text), vectors.get(at))
        for at, (line, text) in enumerate(zip(lines, texts, strict=True))
    ]
