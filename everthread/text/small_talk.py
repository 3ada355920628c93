"""Recognises greetings, thanks and the like in the languages of the lexicons. Pure.

English and Chinese small talk is in `line_features`, which also needs its words one by one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from everthread.text.analyzer import fold, split_words
from everthread.text.lexicon import LEXICONS
from everthread.text.word_lists import alternation, load_word_lists

_LISTS = load_word_lists(__file__)["all"]
_SMALL_TALK = {name: frozenset(map(fold, each.small_talk)) for name, each in LEXICONS.items() if each.stemmer}
_KNOWN = {name: words.union(map(fold, LEXICONS[name].stop)) for name, words in _SMALL_TALK.items()}
_ANY = frozenset[str]().union(*_SMALL_TALK.values())
_PHRASES = sorted((phrase for name in ("ja", "ko") for phrase in LEXICONS[name].small_talk), key=len, reverse=True)
# Never tries a part in two ways.
_UNSPACED = re.compile(rf"(?:\W*+(?>{'|'.join([*map(re.escape, _PHRASES), *_LISTS['unspaced']])}))++\W*+")
_LAUGHTER = re.compile(alternation(_LISTS["laughter"]))
_STRETCHED = re.compile(r"([^\W\d_])\1\1+")  # "okeeeee"


def is_small_talk_elsewhere(text: str, words: Collection[str]) -> bool:
    """Return whether a text is nothing but small talk and function words in one language other than English.

    Args:
        text: the text.
        words: its words, as `analyzer.split_words` returns them.
    """
    if not text.isascii() and _UNSPACED.fullmatch(text):
        return True
    laughs = any(map(_LAUGHTER.fullmatch, words))
    if not laughs and _ANY.isdisjoint(map(_shorten, words)):
        return False
    spoken = split_words(text.replace("'", " ").replace("’", " "))
    words = {_shorten(word) for word in spoken if not _LAUGHTER.fullmatch(word)}
    return any(
        (laughs or not small_talk.isdisjoint(words)) and _KNOWN[name].issuperset(words)
        for name, small_talk in _SMALL_TALK.items()
    )


def _shorten(word: str) -> str:
    """Return a word without the letters by which it was stretched."""
    return _STRETCHED.sub(r"\1", word)
