"""Recall across several banks of one store, for a caller that may read them all: a bot that knows many people.

Each bank is searched by itself, inside its own index; nothing of one weighs in another. Scores of different banks can't
be compared, so the one list is ranked by relevance, and among equals by score.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from reprlib import repr as shortly
from typing import TYPE_CHECKING

from everthread import checks
from everthread.errors import BadQuery, NotFound
from everthread.models.embed import Embedder
from everthread.recipes.base import Asked
from everthread.stores.base import Store
from everthread.types import Hit, Vector, Vectors

if TYPE_CHECKING:
    from everthread.memory import Memory


def recall(memory: Memory, banks: Collection[str], asked: Asked, k: int) -> list[Hit]:
    """The k best hits of these banks, each with its bank's name. What is to be left out are lines of the memory's own
    bank, for in another the same number is another line. Raises BadQuery; NotFound for a bank that is not there, and
    then none was searched."""
    names = there(memory.store, banks)
    checks.text(asked.query)
    embedder = _Once(memory.embedder)
    found: list[Hit] = []
    for name in names:
        without = asked.without if name == memory.bank else ()
        reader = _reader(memory, name, embedder)
        hits = reader.recall(asked.query, k, where=asked.where, as_of=asked.as_of, without=without)
        found += [replace(hit, bank=name) for hit in hits]
    return sorted(found, key=lambda hit: (-hit.relevance, -hit.score))[:k]


def there(store: Store, banks: Collection[str]) -> list[str]:
    """The names, each once. BadQuery where they are no names; NotFound for a bank that is not there, and none is
    made."""
    if isinstance(banks, str) or not isinstance(banks, Collection) or not all(isinstance(each, str) for each in banks):
        raise BadQuery(f"banks must be a list of banks' names, got {shortly(banks)}")
    if not banks:
        raise BadQuery("banks names no bank; name one or several, or leave it out to search the memory's own")
    for name in banks:
        if not store.has(name):
            raise NotFound(
                f"there is no bank {name!r}, so nothing was searched; leave it out, or see who is there: "
                "`everthread banks`, store.banks()"
            )
    return list(dict.fromkeys(banks))


def _reader(memory: Memory, bank: str, embedder: Embedder) -> Memory:
    """A bank by the same recipe, with what is known of the memory's embedder. Lines that wait for their vectors are
    those of this bank alone."""
    reader = type(memory)(bank, memory.store, embedder, memory.recipe)
    reader.state = memory.state
    if bank == memory.bank:
        reader.late = memory.late
    return reader


class _Once:
    """An embedder that embeds each question once, however many banks are asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self.name, self.multilingual = embedder.name, embedder.multilingual

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]
