"""Finds what around a clause changes what it states: who thinks so, and words for the past. Pure."""

from __future__ import annotations

from everthread.facts.grammar import Grammar

MAX_PAST_CHARS = 8  # before a clause in which a word for the past makes it one about it


def is_framed(grammar: Grammar, text: str, scope: int, start: int) -> bool:
    """Return whether what precedes a clause, or governs it, makes it no statement: "she thinks that …".

    Args:
        grammar: the grammar of the language.
        text: the sentence.
        scope: from where on words govern the clause.
        start: where the clause begins.
    """
    if grammar.frame_block.search(text, 0, start) is not None:
        return True
    return grammar.before_block.search(text, scope, start) is not None


def is_passing(grammar: Grammar, text: str, start: int, end: int) -> bool:
    """Return whether what a clause states is so only for a while: "I'm vegan for Lent".

    Args:
        grammar: the grammar of the language.
        text: the sentence.
        start: where what states it begins.
        end: where that ends.
    """
    found = grammar.passing.match(text, end)
    if found is None:
        return False
    lasts = grammar.going_on if found["spell"] else grammar.happened
    return lasts.search(text, start, end) is None


def find_scope(grammar: Grammar, text: str, start: int) -> int:
    """Return from where on words govern a clause that has a subject."""
    return max((match.end() for match in grammar.boundary.finditer(text, 0, start)), default=0)


def is_past(grammar: Grammar, text: str, start: int, at: int) -> bool:
    """Return whether a clause is about the past: "before, I lived in Leeds", "I used to live in Leeds".

    Args:
        grammar: the grammar of the language.
        text: the sentence.
        start: where the clause begins.
        at: where what it says begins.
    """
    found = grammar.past.finditer(text, max(0, start - MAX_PAST_CHARS))
    ends = [each.end() for each in found if each.end() <= at]
    return any(end > start or not text[end:start].strip() for end in ends)
