"""Recall and contexts across several banks of one store, for a caller that may read them all, as a bot that knows many
people may.

Each bank is searched by itself, inside its own index; nothing of one weighs in another. Scores of different banks can't
be compared, so the one list is ranked by relevance, and among equals by score.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from reprlib import repr as shortly
from typing import TYPE_CHECKING, Any

from everthread.bank import validation
from everthread.embedders.onnx import Embedder
from everthread.errors import BadQuery, NotFound
from everthread.recipes.base import Query
from everthread.stores.base import Store
from everthread.text.tokens import Counter
from everthread.types import Context, Hit, Vector, Vectors

if TYPE_CHECKING:
    from everthread.memory import Memory


def recall(memory: Memory, banks: Collection[str], asked: Query, k: int) -> list[Hit]:
    """The k best hits of these banks, each with its bank's name. What is to be left out are lines of the memory's own
    bank, for in another the same number is another line. Raises BadQuery; NotFound for a bank that is not there, and
    then none was searched."""
    names = existing_banks(memory.store, banks)
    validation.check_query(asked.query)
    embedder = _CachedEmbedder(memory.embedder)
    found: list[Hit] = []
    for name in names:
        without = asked.exclude if name == memory.bank else ()
        reader = _reader(memory, name, embedder)
        hits = reader.recall(asked.query, k, where=asked.where, as_of=asked.as_of, exclude=without)
        found += [replace(hit, bank=name) for hit in hits]
    return sorted(found, key=lambda hit: (-hit.relevance, -hit.score))[:k]


def context(
    memory: Memory, banks: Collection[str], query: str, budget: int, options: Mapping[str, Any], **own: Any
) -> Context:
    """What each of these banks has that bears on the query, each under its name, the memory's own first. Each has an
    equal share of the budget, and what it leaves is for those after it, the own bank being the last to be asked.
    options are those of `Memory.context` for every bank, and own those for the memory's bank alone. Raises as `recall`.
    """
    names = sorted(existing_banks(memory.store, banks), key=lambda name: name == memory.bank)
    validation.check_query(query)
    embedder, count, left = _CachedEmbedder(memory.embedder), options["count"], budget
    mine, others = Context("", 0, (), (), (), 0.0), []
    for place, name in enumerate(names):
        reader, share = _reader(memory, name, embedder), left // (len(names) - place)
        title = "" if names == [memory.bank] else f"[Bank {name if name.isprintable() else repr(name)}]\n"
        room = share - (count(f"\n\n{title}") if title else 0)
        if name == memory.bank:
            mine = _titled(reader.context(query, max(room, 1), **options, **own), title, "", count)
        elif room > 0 and (found := reader.context(query, room, **options)):
            others.append(_titled(found, title, name, count))
            left -= share - room + found.tokens
    text = _joined(mine, others)
    while others and count(text) > budget:
        others.pop()
        text = _joined(mine, others)
    relevance = max(each.relevance for each in (mine, *others))
    return replace(mine, text=text, tokens=count(text) if text else 0, relevance=relevance, others=tuple(others))


def _titled(found: Context, title: str, name: str, count: Counter) -> Context:
    """The context of one bank under its title, its hits with the bank's name."""
    hits, cut = (tuple(replace(hit, bank=name) for hit in some) for some in (found.hits, found.cut))
    text = title + found.text if found.text else ""
    return replace(found, text=text, tokens=count(text) if text else 0, hits=hits, cut=cut, bank=name)


def _joined(mine: Context, others: Sequence[Context]) -> str:
    return "\n\n".join(each.text for each in (mine, *others) if each.text)


def beside(memory: Memory, banks: Collection[str]) -> list[str] | None:
    """The memory's own bank and those of the others that are still there; None without others."""
    others = [name for name in banks if name != memory.bank and memory.store.exists(name)]
    return [memory.bank, *others] if others else None


def existing_banks(store: Store, banks: Collection[str]) -> list[str]:
    """The names, each once. BadQuery where they are no names; NotFound for a bank that is not there, and none is
    made."""
    if isinstance(banks, str) or not isinstance(banks, Collection) or not all(isinstance(each, str) for each in banks):
        raise BadQuery(f"banks must be a list of banks' names, got {shortly(banks)}")
    if not banks:
        raise BadQuery("banks names no bank; name one or several, or leave it out to search the memory's own")
    for name in banks:
        if not store.exists(name):
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
        reader.backlog = memory.backlog
    return reader


class _CachedEmbedder:
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
