"""Finds what in a line isn't about its speaker's life: a text that it passes on, a tale of strangers. Pure."""

from __future__ import annotations

import re

from everthread.facts.grammar import Grammar
from everthread.facts.referents import Names
from everthread.text.sentences import split_sentences

MIN_TALE_SENTENCES = 3  # of a tale without a heading,
MIN_TALE_CHARS = 200  # or else its length

_HEADING_MARKS = ":\n-"  # a line without any has no heading
_HEADING = re.compile(r"[^.!?\n]{1,40}:\s")
_WORD = re.compile(r"\w+")


def find_own_part(text: str, grammar: Grammar) -> str:
    """Return a line up to where it introduces a text that isn't the speaker's: "Translate this:"."""
    if any(mark in text for mark in _HEADING_MARKS):
        text = _cut_after(grammar.heading_block, text)
    return _cut_after(grammar.borrowed_block, text)


def _cut_after(introduction: re.Pattern[str], text: str) -> str:
    found = introduction.search(text)
    return text if found is None else text[: found.end()]


def is_tale(text: str, grammar: Grammar, names: Names) -> bool:
    """Return whether a line is a plot, a report or an exercise about strangers by its form.

    It has a heading or several sentences with capital letters, no word for the speaker or for who is spoken to, and
    no name that is known.
    """
    if grammar.parties.search(text) is not None:
        return False
    is_long = len(text) >= MIN_TALE_CHARS or len(split_sentences(text)) >= MIN_TALE_SENTENCES
    if _HEADING.match(text) is None and (not is_long or grammar.lowercase.search(text) is not None):
        return False
    return not any(map(names.is_known, _WORD.findall(text)))
