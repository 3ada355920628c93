"""Looks words up in a list of English words and names.

The list, `words/en.txt`, is made from SCOWL and a list of our own; `words/NOTICE` has the licence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from everthread.common.once import once
from everthread.text.analyzer import STOP_WORDS

LAST = chr(sys.maxunicode)  # sorted after all other characters

_WORD = re.compile(r"[^\W\d_]+")


class _WordList(NamedTuple):
    """The listed words.

    Attributes:
        common: the commonest ones, with their ranks.
        others: the others, as sorted lines: a string takes a tenth of the memory of a set.
        names: names, likewise.
    """

    common: Mapping[str, int]
    others: str
    names: str


def is_word(word: str) -> bool:
    """Return whether a word in lower case is listed, other than as a name."""
    listed = _load_words()
    return word in listed.common or _has_line(listed.others, word)


def is_listed_name(word: str) -> bool:
    """Return whether a word in lower case is listed as a name, and at most as a rare word too, such as "anna"."""
    listed = _load_words()
    return word not in listed.common and _has_line(listed.names, word)


def select_words(words: set[str]) -> set[str]:
    """Return those of many words in lower case with the same first letter for which `is_word` is true, at once."""
    listed = _load_words()
    first = min(words, default="")[:1]
    block = listed.others[_find_place(listed.others, first) : _find_place(listed.others, first + LAST)]
    return words & listed.common.keys() | words.intersection(block.split("\n"))


def _has_line(lines: str, word: str) -> bool:
    """Return whether sorted lines, with a line break before and after each, have one with this word."""
    return lines.startswith(f"\n{word}\n", _find_place(lines, word))


def _find_place(lines: str, text: str) -> int:
    """Return where the line break is before the first of sorted lines that is not less than a text."""
    low, high = 0, len(lines) - 1
    while low < high:
        start = lines.rfind("\n", low, (low + high) // 2 + 1)
        end = lines.find("\n", start + 1)
        low, high = (end, high) if lines[start + 1 : end] < text else (low, start)
    return low


def is_common(word: str) -> bool:
    """Return whether a word is one of the commonest, about ten thousand."""
    return word in _load_words().common


def rank(word: str) -> int:
    """Return the rank of a word by how common it is; that of all rare words is the same."""
    common = _load_words().common
    return common.get(word, len(common))


def is_mainly_english(text: str) -> bool:
    """Return whether at least half of the words of a text are English; names don't count."""
    words = [word for word in _WORD.findall(text.lower()) if not is_listed_name(word)]
    return 2 * sum(word in STOP_WORDS or is_word(word) for word in words) >= len(words)


@once
def _load_words() -> _WordList:
    """Load the list: the commonest words, the others, and names, with a blank line between them."""
    text = (Path(__file__).parent / "words" / "en.txt").read_text(encoding="utf-8")
    common, others, names = text.split("\n\n")
    ranks = {word: place for place, word in enumerate(common.split())}
    return _WordList(ranks, f"\n{others}\n", f"\n{names}")
