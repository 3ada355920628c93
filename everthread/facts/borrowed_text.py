"""Finds what in a line isn't about its speaker's life: a text that it passes on, a tale of strangers. Pure."""

from __future__ import annotations

import re

from everthread.facts.grammar import Grammar
from everthread.facts.referents import Names
from everthread.text.english_words import is_listed_name
from everthread.text.first_person import Person, find_person
from everthread.text.sentences import split_sentences

MIN_TALE_SENTENCES = 3  # of a tale without a heading,
MIN_TALE_CHARS = 200  # or else its length

_HEADING_MARKS = ":\n-"  # a line without any has no heading
_HEADING = re.compile(r"[^.!?\n]{1,40}:\s")
_WORD = re.compile(r"\w+")
_LABELLED_ROW = re.compile(
    r"^[ \t]*+(?P<name>[^\W\d_][\w'’-]*+(?: [\w'’-]++){0,2})[ \t]*+[:：][ \t]*+(?P<said>\S.*)", re.M
)


def cut_pasted_rows(text: str, speaker: str, names: Names) -> str:
    """Return a line up to the first row that begins with the name of another: "Anna: I live in Rome"."""
    rows = _LABELLED_ROW.finditer(text)
    start = next((row.start() for row in rows if _is_pasted(row["name"], row["said"], speaker, names)), len(text))
    return text[:start]


def _is_pasted(name: str, said: str, speaker: str, names: Names) -> bool:
    """Return whether words after a name are those of another speaker, or of someone in the first person."""
    if not set(_WORD.findall(name)).isdisjoint(_WORD.findall(speaker)):
        return False
    if any(name in (other, other.split()[0]) for other in names.speakers):
        return True
    return name[0].isupper() and is_listed_name(name.split()[0].lower()) and find_person(said) is not Person.NONE


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
