"""Recall and contexts from several banks of one store, for a caller that may read them all.

Each bank is searched separately, in its own index. Scores of different banks can't be compared, so hits are ranked by
relevance, and by score if that is equal. The query is embedded once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from everthread.bank import validation
from everthread.errors import NotFound
from everthread.recall.reader import BankReader
from everthread.recall.types import ContextLimits, Query, SearchResult
from everthread.stores.base import Store
from everthread.text.tokens import TokenCounter
from everthread.types import Context, Hit

Search = Callable[[BankReader, Query, int], SearchResult]  # a recipe's search in one bank
BuildContext = Callable[[BankReader, Query, ContextLimits], Context]  # a recipe's context from one bank


def recall(reader: BankReader, banks: Collection[str], query: Query, k: int, search: Search) -> list[Hit]:
    """Find the best hits of several banks.

    Args:
        reader: the caller's own bank.
        banks: ids of banks in its store.
        query: the query; `exclude` has numbers of the caller's own bank.
        k: the maximum number of hits, of all banks together.
        search: searches one bank.

    Returns:
        The hits by relevance, each with its bank's id.

    Raises:
        BadQuery: `banks` names no bank, or the query is not a str.
        NotFound: a bank doesn't exist; no bank is searched.
    """
    names = check_banks(reader.store, banks)
    validation.check_query(query.text)
    hits = [
        replace(hit, bank=bank_reader.bank)
        for bank_reader in _readers(reader, names)
        for hit in search(bank_reader, _query_for(bank_reader, reader, query), k).hits
    ]
    return sorted(hits, key=lambda hit: (-hit.relevance, -hit.score))[:k]


def build_context(
    reader: BankReader, banks: Collection[str], query: Query, limits: ContextLimits, build: BuildContext
) -> Context:
    """Build one context from several banks, each part under its bank's id, the caller's own bank first.

    Each bank has an equal share of the tokens; those that it doesn't use are shared by the banks after it. The caller's
    own bank is searched last, so that it gets what the others leave.

    Args:
        reader: the caller's own bank.
        banks: ids of banks in its store.
        query: the query; `notes` and `exclude` apply to the caller's own bank.
        limits: the limits of the whole text; `session` and `exclude` apply to the caller's own bank.
        build: builds the context of one bank.

    Returns:
        The context of the caller's own bank, with the text of all banks; the other contexts are its `others`.

    Raises:
        BadQuery, NotFound: as `recall`.
    """
    names = sorted(check_banks(reader.store, banks), key=lambda name: name == reader.bank)
    validation.check_query(query.text)
    count, remaining = limits.count, limits.tokens
    own_context, others = Context("", 0, (), (), (), 0.0), list[Context]()
    for index, bank_reader in enumerate(_readers(reader, names)):
        name, share = bank_reader.bank, remaining // (len(names) - index)
        title = "" if names == [reader.bank] else f"[Bank {name if name.isprintable() else repr(name)}]\n"
        room = share - (count(f"\n\n{title}") if title else 0)
        if name == reader.bank:
            own_context = _add_title(build(bank_reader, query, replace(limits, tokens=max(room, 1))), title, "", count)
        elif room > 0:
            bank_limits = replace(limits, tokens=room, session=None, exclude=frozenset())
            if context := build(bank_reader, _query_for(bank_reader, reader, query), bank_limits):
                others.append(_add_title(context, title, name, count))
                remaining -= share - room + context.tokens
    text = _join_texts(own_context, others)
    while others and count(text) > limits.tokens:
        others.pop()
        text = _join_texts(own_context, others)
    relevance = max(context.relevance for context in (own_context, *others))
    return replace(own_context, text=text, tokens=count(text) if text else 0, relevance=relevance, others=tuple(others))


def check_banks(store: Store, banks: Collection[str]) -> list[str]:
    """Check that banks exist.

    Args:
        store: the store of the banks.
        banks: their ids.

    Returns:
        The distinct ids, in their order.

    Raises:
        BadQuery: `banks` names no bank.
        NotFound: a bank doesn't exist.
    """
    for name in validation.check_bank_ids(banks):
        if not store.exists(name):
            raise NotFound(
                f"there is no bank {name!r}, so nothing was searched; leave it out, or see which banks there are: "
                "`everthread banks`, store.banks()"
            )
    return list(dict.fromkeys(banks))


def list_existing(store: Store, own: str, banks: Collection[str]) -> list[str] | None:
    """Return the own bank and those of the other banks that still exist; None if no other exists."""
    others = [name for name in banks if name != own and store.exists(name)]
    return [own, *others] if others else None


def _readers(own: BankReader, names: Sequence[str]) -> Iterator[BankReader]:
    """Return a reader for each bank. Together they embed a query once."""
    encoder = own.encoder.with_query_cache()
    return (own.for_bank(name, encoder) for name in names)


def _query_for(reader: BankReader, own: BankReader, query: Query) -> Query:
    """Return the query for one bank. `exclude` and `notes` are of the caller's own bank, so they apply to it only."""
    return query if reader.bank == own.bank else replace(query, exclude=frozenset(), notes=None)


def _add_title(context: Context, title: str, name: str, count: TokenCounter) -> Context:
    """Return a context with a title above its text, and the bank's id in its hits."""
    hits, cut = (tuple(replace(hit, bank=name) for hit in hits) for hits in (context.hits, context.cut))
    text = title + context.text if context.text else ""
    return replace(context, text=text, tokens=count(text) if text else 0, hits=hits, cut=cut, bank=name)


def _join_texts(own: Context, others: Sequence[Context]) -> str:
    return "\n\n".join(context.text for context in (own, *others) if context.text)
