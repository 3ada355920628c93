"""Lines as a store takes them: analysed, and embedded as far as the recipe embeds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from everthread.observe.units import marks
from everthread.stores.base import Entry
from everthread.stores.text import own, words
from everthread.types import NewLine, Role, Vectors, now


def entries(
    lines: Sequence[NewLine], roles: Collection[Role], embed: Callable[[Sequence[str]], list[Vectors] | None]
) -> list[Entry]:
    """Prepare lines for a store.

    Args:
        lines: the lines, cleaned.
        roles: those whose lines are embedded now.
        embed: returns the vectors of the pieces of each text, or None while no embedder answers.

    Returns:
        An entry for each line, in their order.
    """
    texts = [own(line.text, line.metadata) for line in lines]
    chosen = [at for at, line in enumerate(lines) if line.role in roles]
    made = embed([texts[at] for at in chosen]) if chosen else None
    vectors = dict(zip(chosen, made, strict=True)) if made else {}
    return [
        Entry(line, line.said_at or now(), words(text), marks(text), vectors.get(at))
        for at, (line, text) in enumerate(zip(lines, texts, strict=True))
    ]
