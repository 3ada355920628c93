"""Recognises texts in the first person, and those that describe what the speaker experienced. Pure."""

from __future__ import annotations

import re
from enum import IntEnum

from everthread.text.word_lists import load_word_lists

MAX_CHARS = 1000  # characters of a text that are read: a statement usually begins its text

_EN = load_word_lists(__file__)["en"]
_PRONOUNS, _SUBJECTS = frozenset(_EN["pronouns"]), frozenset(_EN["subjects"])
_ADVERBS, _PAST = frozenset(_EN["adverbs"]), frozenset(_EN["past"])
_WORD = re.compile("[a-z]+")


class Person(IntEnum):
    """The grammatical person of a text, as far as it matters to recall."""

    NONE = 0
    FIRST = 1  # "My cat is asleep."
    EXPERIENCE = 2  # "I adopted a cat.", "We've been to Rome."


def find_person(text: str) -> Person:
    """Return whether a text is in the first person, and whether it describes what happened."""
    words = _WORD.findall(text[:MAX_CHARS].lower())
    if _PRONOUNS.isdisjoint(words):
        return Person.NONE
    subjects = (index for index, word in enumerate(words, 1) if word in _SUBJECTS)
    return Person.EXPERIENCE if any(_begins_in_past(words[index : index + 2]) for index in subjects) else Person.FIRST


def _begins_in_past(words: list[str]) -> bool:
    """Return whether a verb in the past comes first, or after an adverb."""
    return any(map(_is_past, words[: 2 if words and _is_adverb(words[0]) else 1]))


def _is_past(word: str) -> bool:
    return word in _PAST or (word.endswith("ed") and len(word) > 4 and not word.endswith("eed"))


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or word.endswith("ly")
