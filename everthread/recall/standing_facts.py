"""Recognises requests for advice, and the lasting facts that bear on them though the request names none. Pure.

"What should I cook?" shares neither words nor meaning with "I'm allergic to walnuts", so neither its signals nor the
relevance gate would find that line.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache

from everthread.text.analyzer import fold, normalize, terms
from everthread.text.lexicon import ENGLISH, LEXICONS
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 1000  # characters of a text that are read
MAX_TERMS = 6  # of a request: a longer one says itself what bears on it, and lasting facts were mostly noise

_LISTS = load_word_lists(__file__)
_EN = _LISTS[ENGLISH]


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){alternation(_EN[name])}(?![a-z])")


def _compile(language: str, name: str) -> re.Pattern[str]:
    """Compile a list of another language; it is compared with texts without accents."""
    edge = r"\b" if LEXICONS[language].stemmer else ""  # in scripts without spaces a phrase is within a run
    return re.compile(f"{edge}{fold(alternation(_LISTS[language][name]))}{edge}")


_REQUESTS, _PAST, _FOOD, _DIET, _STANDING = map(_pattern, ("requests", "past", "food", "diet", "standing"))
_OTHERS = _LISTS.keys() - {ENGLISH}
_FOOD_REQUESTS = {language: _compile(language, "food_requests") for language in _OTHERS}
_DIETS = {language: _compile(language, "diet") for language in _OTHERS}


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


def find_request(text: str, language: str = ENGLISH) -> Request:
    """Return what a short query requests: in other languages than English, food only."""
    if language != ENGLISH:
        form = _FOOD_REQUESTS.get(language)
        return Request.NONE if form is None or form.search(fold(text[:MAX_CHARS])) is None else Request.FOOD
    folded = normalize(text)
    if _REQUESTS.search(folded) is None or _PAST.search(folded) is not None or len(terms(text)) > MAX_TERMS:
        return Request.NONE
    return Request.ADVICE if _FOOD.search(folded) is None else Request.FOOD


def find_fact(text: str, language: str = ENGLISH) -> Fact:
    """Return what a line says that lasts.

    Args:
        text: the line, in English or the language of the query.
        language: that language.
    """
    folded = normalize(text[:MAX_CHARS])
    diet = _DIETS.get(language)
    if _DIET.search(folded) is not None or (diet is not None and diet.search(fold(folded)) is not None):
        return Fact.DIET
    return Fact.NONE if _STANDING.search(folded) is None else Fact.STANDING


@cache
def list_diet_terms(language: str) -> tuple[str, ...]:
    """Return the terms that lines about diets have, in English and in another language."""
    words = [*_EN["diet_words"], *_LISTS.get(language, _EN)["diet_words"]]
    return tuple(dict.fromkeys(term for word in words for term in terms(word)))
