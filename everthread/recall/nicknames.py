"""Finds the speakers that a question calls by another form of their name. Pure.

People are often not called as their account is: by a short form (Mel, Johnny), a middle or family name, a word of the
account (the_real_kate, kateWalsh84), or in another spelling (Johnathan for Jonathan). A form counts only if it fits one
speaker alone.
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
# Danny and Charlie; not Marie and Mary, whose stem would be that of Martin.
_WORDS = re.compile(r"[A-ZÀ-Þ]?[^\W\d_A-ZÀ-Þ]{2,}|[A-ZÀ-Þ]{3,}")  # of an account: "kate", "Walsh", "KATE"
_DIMINUTIVE = re.compile(r"(\w{2,}(\w))\2(?:y|ie|i)|(\w{4,})(?:y|ie|i)")


def find_nicknames(words: Iterable[str], speakers: Sequence[str]) -> dict[str, str]:
    """Find the words that are other forms of one speaker's name.

    Args:
        words: capitalised words of a question.
        speakers: the names of the bank's speakers.

    Returns:
        The speakers by folded word; without the first names of speakers.
    """
    parts = {name: _split(name) for name in speakers}
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


def find_short_form(word: str, speakers: Sequence[str]) -> str | None:
    """Return the one speaker whose first name has this short form, which begins otherwise: Bill for William.

    Bill may be another person. So this is for a name that no line contains.
    """
    named = [name for name in speakers if _is_short_form(fold(word), map(fold, _split(name)))]
    return named[0] if len(named) == 1 else None


def _is_short_form(word: str, parts: Iterable[str]) -> bool:
    return any(word in _SHORT_FORMS.get(part, ()) for part in parts)


def _split(name: str) -> list[str]:
    """Return the parts of a name, and then the words of those that are written together."""
    parts = normalize(name).split()
    words = [normalize(word) for word in _WORDS.findall(name) if len(word) >= MIN_STEM]
    return [*parts, *(word for word in words if word not in parts)]


def _is_part(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word is a middle or a family name, or is in the account."""
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
