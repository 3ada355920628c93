"""Finds the speakers that a question calls by another form of their name. Pure.

People are often not called as their account is: by a short form (Mel, Johnny), a middle or family name, or in another
spelling (Johnathan for Jonathan). A form counts only if it fits one speaker alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from everthread.text.analyzer import fold, normalize
from everthread.text.word_lists import load_word_lists

_SHORT_FORMS: dict[str, list[str]] = load_word_lists(__file__)["all"]
MIN_STEM = 3  # letters
MIN_SPELLING = 5  # letters of a name that may be misspelt; shorter names differ too little from each other
LEAST_SIMILARITY = 0.85  # of two spellings of one name, from 0 to 1
MAX_ACCOUNT_WORDS = 2  # of which each may be a name; an account of more is a phrase (john_in_paris)
_ACCOUNT_WORD = re.compile(r"[A-ZÀ-Þ]?[^\W\d_A-ZÀ-Þ]+|[A-ZÀ-Þ]+")  # "kate", "Walsh", "KATE"
# Danny and Charlie; not Marie and Mary, whose stem would be that of Martin.
_DIMINUTIVE = re.compile(r"(\w{2,}(\w))\2(?:y|ie|i)|(\w{4,})(?:y|ie|i)")


def find_nicknames(words: Iterable[str], speakers: Sequence[str]) -> dict[str, str]:
    """Find the words that are other forms of one speaker's name.

    Args:
        words: capitalised words of a question.
        speakers: the names of the bank's speakers.

    Returns:
        The speakers by folded word; without the first names of speakers.
    """
    parts = {name: normalize(name).split() for name in speakers}
    first_names = {each[0] for each in parts.values() if each}
    found = {}
    for word in map(normalize, words):
        if len(word) < MIN_STEM or word in first_names:
            continue
        alike = [(name, each) for name, each in parts.items() if any(part[0] == word[0] for part in each)]
        for is_form in (_is_part, _shortens, _is_spelling):
            named = [name for name, each in alike if is_form(word, each)]
            if named:
                if len(named) == 1:
                    found[word] = named[0]
                break
    return found


def find_unused_name(word: str, speakers: Sequence[str]) -> str | None:
    """Return the one speaker that a name may mean if no line contains it.

    It is a word of the account (kate.w84, KateWalsh), or a short form that begins otherwise (Bill for William). A name
    that lines contain may be that of another person.
    """
    folded = fold(word)
    named = [name for name in speakers if any(_is_called(folded, given) for given in _list_given_names(name))]
    return named[0] if len(named) == 1 else None


def _is_called(word: str, given: str) -> bool:
    return word == given or word in _SHORT_FORMS.get(given, ())


def _list_given_names(name: str) -> list[str]:
    """Return the first name, or the words of an account of one part; in small letters without accents."""
    first, *others = name.split() or [""]
    words = [word for word in _ACCOUNT_WORD.findall(first) if len(word) > 1]
    if others or len(words) > MAX_ACCOUNT_WORDS:
        return [fold(first)]
    return [fold(word) for word in words if len(word) >= MIN_STEM]


def _is_part(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word is a middle or a family name."""
    return word in parts[1:]


def _shortens(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word is a short form of a first name; a longer word is not its long form (Chris, Christmas)."""
    return any(len(stem) >= MIN_STEM and parts[0].startswith(stem) for stem in _find_stems(word))


def _find_stems(name: str) -> list[str]:
    """Return a name, and what it is a diminutive of: "dan" for "danny"."""
    match = _DIMINUTIVE.fullmatch(name)
    return [name] if match is None else [name, match[1] or match[3]]


def _is_spelling(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word is another spelling of a first name."""
    name = parts[0]
    if min(len(word), len(name)) < MIN_SPELLING or word[0] != name[0]:
        return False
    return SequenceMatcher(None, word, name).ratio() >= LEAST_SIMILARITY
