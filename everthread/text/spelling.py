"""Finds misspelt English words, and what may be meant by them.

A word is misspelt if it is not in a list of English words and names. Four of five misspelt words have a single error
(Damerau 1964): a letter too many, too few or another one, or two neighbours that changed places. So the words that may
be meant are all those with one such change (Norvig 2007, "How to Write a Spelling Corrector").

The list, `words/en.txt`, is made from SCOWL, the commonest words first; `words/NOTICE` has its licence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

from everthread.common.once import once
from everthread.text.analyzer import STOP_WORDS

MIN_LETTERS, MAX_LETTERS = 4, 20
MIN_CHANGED_LETTERS = 5  # a shorter word is one letter away from many others, so that only two may be swapped
MAX_WORDS = 4  # of a text that are looked up, the first ones

# A capitalised word may be a name, and one with other signs an address, a path, or code.
_WORD = re.compile(
    rf"(?<![\w'’@#$./\\:-])[a-z]{{{MIN_LETTERS},{MAX_LETTERS}}}(?=['’]s?(?!\w)|[^\w'’@/\\-]|$)(?![.:][\w/])"
)


class _WordList(NamedTuple):
    """The listed words.

    Attributes:
        common: the commonest ones, with their ranks.
        text: all of them, each between line breaks, the commonest first.
    """

    common: Mapping[str, int]
    text: str


def find_misspelt(text: str) -> list[str]:
    """Return the misspelt words of an English text, in order: the first MAX_WORDS."""
    return [word for word in dict.fromkeys(_WORD.findall(text)) if not is_listed(word)][:MAX_WORDS]


def is_listed(word: str) -> bool:
    """Return whether a word, in small letters, is in the list."""
    words = _load_words()
    return word in words.common or f"\n{word}\n" in words.text


def is_common(word: str) -> bool:
    """Return whether a word is one of the commonest, about ten thousand."""
    return word in _load_words().common


def rank(word: str) -> int:
    """Return a number by which common words come before others, and these before words that are not listed."""
    common, text = _load_words()
    if word in common:
        return common[word]
    at = text.find(f"\n{word}\n")
    return len(text) if at < 0 else at


def list_meant(word: str) -> list[str]:
    """Return what may be meant by a misspelt word: all words with its first letter and one change.

    If a function word is among them ("their" for "thier"), it is taken to be meant: nothing is returned.
    """
    meant = _change_once(word)
    return sorted(meant) if STOP_WORDS.isdisjoint(meant) else []


def _change_once(word: str) -> set[str]:
    """Return all words that differ from a word by one letter, or by the order of two, after the first letter."""
    splits = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    found = {head[:-1] + tail[0] + head[-1] + tail[1:] for head, tail in splits if len(head) > 1 and tail}
    if len(word) >= MIN_CHANGED_LETTERS:
        found |= {head + tail[1:] for head, tail in splits}
        found |= {head + letter + tail[1:] for head, tail in splits for letter in ascii_lowercase if tail}
        found |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    return found - {word}


def replace_words(text: str, replacements: Mapping[str, str]) -> str:
    """Replace words of a text that `find_misspelt` can find."""
    return _WORD.sub(lambda match: replacements.get(match[0], match[0]), text)


@once
def _load_words() -> _WordList:
    """Load the list. The words before its blank line are the commonest."""
    text = (Path(__file__).parent / "words" / "en.txt").read_text(encoding="ascii")
    common, _, others = text.partition("\n\n")
    return _WordList({word: place for place, word in enumerate(common.split())}, f"\n{common}\n{others}")
