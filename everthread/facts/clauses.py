"""Finds where the clauses of a sentence begin and end. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from everthread.facts.grammar import Grammar

MAX_CLAUSES = 40  # of a sentence
MAX_OPENERS = 4  # before a subject: "well, honestly, these days"

COMMA = re.compile(r"[,，]|(?<=[一-鿿])\s")  # in a text without spaces, these are commas


def find_starts(grammar: Grammar, text: str) -> Iterator[tuple[int, bool]]:
    """Yield where clauses begin, and whether each may go on with the subject of the one before."""
    found: dict[int, bool] = {}
    for match in grammar.starts.finditer(text):
        at = _skip_space(text, match.end())
        found[at] = found.get(at, False) or match["joined"] is not None
        for _ in range(MAX_OPENERS):
            opener = grammar.openers.match(text, at)
            if opener is None:
                break
            at = _skip_space(text, opener.end())
            found.setdefault(at, match["joined"] is not None)
        if len(found) >= MAX_CLAUSES:
            break
    yield from sorted(found.items())


def is_first(grammar: Grammar, text: str, start: int) -> bool:
    """Return whether nothing but openers precedes a clause."""
    at = 1
    for _ in range(MAX_OPENERS):
        opener = grammar.openers.match(text, at) if at < start else None
        if opener is None:
            break
        at = _skip_space(text, opener.end())
    return at >= start


def find_clause_end(text: str, at: int) -> int:
    """Return where the clause ends that has a place in it."""
    comma = COMMA.search(text, at)
    return len(text) if comma is None else comma.start()


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
