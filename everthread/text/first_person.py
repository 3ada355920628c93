"""Recognises texts in the first person, and those that describe what the speaker experienced. Pure."""

from __future__ import annotations

import re
from enum import IntEnum
from string import ascii_lowercase

from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 1000  # characters of a text that are read: a statement usually begins its text

_EN = load_word_lists(__file__)["en"]
_ADVERB = rf"(?:{alternation(_EN['adverbs'])}|[a-z]*ly)"
_PAST = rf"(?:{alternation(_EN['past'])}|[a-z]{{2,}}[a-df-z]ed)"
# For texts whose characters other than letters were replaced by spaces. A pattern that begins with a space is found in
# half of the time.
_PRONOUN = re.compile(f" {alternation(_EN['pronouns'])} ".encode())
_EXPERIENCE = re.compile(f" {alternation(_EN['subjects'])} +(?:{_PAST}|{_ADVERB} +{_PAST}) ".encode())
_LETTERS_ONLY = bytes(code if code in ascii_lowercase.encode() else ord(" ") for code in range(256))


class Person(IntEnum):
    """The grammatical person of a text, as far as it matters to recall."""

    NONE = 0
    FIRST = 1  # "My cat is asleep."
    EXPERIENCE = 2  # "I adopted a cat.", "We've been to Rome."


def find_person(text: str) -> Person:
    """Return whether a text is in the first person, and whether it describes what happened to that person."""
    words = f" {text[:MAX_CHARS].lower()} ".encode(errors="replace").translate(_LETTERS_ONLY)
    if _PRONOUN.search(words) is None:
        return Person.NONE
    return Person.FIRST if _EXPERIENCE.search(words) is None else Person.EXPERIENCE
