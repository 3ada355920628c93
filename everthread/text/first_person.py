"""Recognises texts in the first person, and those that describe what the speaker experienced. Pure."""

from __future__ import annotations

import re
from enum import IntEnum

from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 1000  # characters of a text that are read: a statement usually begins its text

_EN = load_word_lists(__file__)["en"]
_GAP = "[^a-z]+"
_ADVERB = rf"(?:{alternation(_EN['adverbs'])}|[a-z]*ly)"
_PAST = rf"(?:{alternation(_EN['past'])}|[a-z]{{2,}}[a-df-z]ed)"
_PRONOUN = re.compile(rf"(?<![a-z]){alternation(_EN['pronouns'])}(?![a-z])")
_EXPERIENCE = re.compile(rf"(?<![a-z]){alternation(_EN['subjects'])}{_GAP}(?:{_PAST}|{_ADVERB}{_GAP}{_PAST})(?![a-z])")


class Person(IntEnum):
    """The grammatical person of a text, as far as it matters to recall."""

    NONE = 0
    FIRST = 1  # "My cat is asleep."
    EXPERIENCE = 2  # "I adopted a cat.", "We've been to Rome."


def find_person(text: str) -> Person:
    """Return whether a text is in the first person, and whether it describes what happened to that person."""
    folded = text[:MAX_CHARS].lower()
    if _PRONOUN.search(folded) is None:
        return Person.NONE
    return Person.FIRST if _EXPERIENCE.search(folded) is None else Person.EXPERIENCE
