"""Recall across several banks of one store, for whoever may read them all: a bot that knows many people.

Each bank is searched by itself, inside its own index; nothing of one weighs in another. Scores of different banks can't
be compared, so the one list is ranked by relevance, and among equals by score.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
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
    vector = memory.embed_query(asked.query) if asked.query.strip() else None
    view = copy.copy(memory)  # with what is known of the embedder: how its cosines lie, and whether it is down
    view.embedder = _Embedded(memory.embedder, {} if vector is None else {asked.query: vector})
    found: list[Hit] = []
    for name in names:
        view.bank = name
        without = asked.without if name == memory.bank else ()
        hits = view.recall(asked.query, k, where=asked.where, as_of=asked.as_of, without=without)
        found += [replace(hit, bank=name) for hit in hits]
    return sorted(found, key=lambda hit: (-hit.relevance, -hit.score))[:k]


def there(store: Store, banks: Collection[str]) -> list[str]:
    """The names, each once. BadQuery where they are none; NotFound where there is no such bank, and none is made."""
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


class _Embedded:
    """An embedder that embeds a question once, however many banks are asked."""

    def __init__(self, embedder: Embedder, known: Mapping[str, Vector]) -> None:
        self._embedder, self._known = embedder, dict(known)
        self.name, self.multilingual = embedder.name, embedder.multilingual

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]
