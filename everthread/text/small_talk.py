"""Recognises greetings, thanks and the like in the languages of the lexicons. Pure.

English and Chinese small talk is in `line_features`, which also needs its words one by one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from everthread.text.analyzer import fold, split_words
from everthread.text.lexicon import LEXICONS

_SMALL_TALK = {name: frozenset(map(fold, each.small_talk)) for name, each in LEXICONS.items() if each.stemmer}
_KNOWN = {name: words.union(map(fold, LEXICONS[name].stop)) for name, words in _SMALL_TALK.items()}
_ANY = frozenset[str]().union(*_SMALL_TALK.values())
_PHRASES = sorted((phrase for name in ("ja", "ko") for phrase in LEXICONS[name].small_talk), key=len, reverse=True)
_UNSPACED = re.compile(rf"(?:\W*+(?>{'|'.join(map(re.escape, _PHRASES))}))++\W*+")  # never tries a part in two ways


def is_small_talk_elsewhere(text: str, words: Collection[str]) -> bool:
    """Return whether a text is nothing but small talk and function words in one language other than English.

    Args:
        text: the text.
        words: its words, as `analyzer.split_words` returns them.
    """
    if not text.isascii() and _UNSPACED.fullmatch(text):
        return True
    if _ANY.isdisjoint(words):
        return False
    words = split_words(text.replace("'", " ").replace("’", " "))
    return any(
        not small_talk.isdisjoint(words) and _KNOWN[name].issuperset(words) for name, small_talk in _SMALL_TALK.items()
    )
