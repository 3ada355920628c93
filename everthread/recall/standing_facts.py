"""Recognises requests for advice, and the lasting facts that bear on them though the request names none. Pure.

"What should I cook?" shares neither words nor meaning with "I'm allergic to walnuts", so neither its signals nor the
relevance gate would find that line.
"""

from __future__ import annotations

import re
from enum import IntEnum

from everthread.text.analyzer import normalize, terms
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 1000  # characters of a text that are read
MAX_TERMS = 6  # of a request: a longer one says itself what bears on it, and lasting facts were mostly noise

_EN = load_word_lists(__file__)["en"]
DIET_TERMS = tuple(dict.fromkeys(term for word in _EN["diet_words"] for term in terms(word)))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){alternation(_EN[name])}(?![a-z])")


_REQUESTS, _PAST, _FOOD, _DIET, _STANDING = map(_pattern, ("requests", "past", "food", "diet", "standing"))


class Request(IntEnum):
    """The requests for which lasting facts are looked for."""

    NONE = 0
    ADVICE = 1  # "Can you suggest a present for Ben?"
    FOOD = 2  # "What should I cook for dinner?"


class Fact(IntEnum):
    """The kinds of lasting facts."""

    NONE = 0
    STANDING = 1  # "Ben collects old maps."
    DIET = 2  # "I'm vegetarian."


def find_request(text: str) -> Request:
    """Return what a short English query requests."""
    folded = normalize(text)
    if _REQUESTS.search(folded) is None or _PAST.search(folded) is not None or len(terms(text)) > MAX_TERMS:
        return Request.NONE
    return Request.ADVICE if _FOOD.search(folded) is None else Request.FOOD


def find_fact(text: str) -> Fact:
    """Return what an English line says that lasts."""
    folded = normalize(text[:MAX_CHARS])
    if _DIET.search(folded) is not None:
        return Fact.DIET
    return Fact.NONE if _STANDING.search(folded) is None else Fact.STANDING
