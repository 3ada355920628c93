"""Distinguishes names from other words by the lists of English and of Chinese words. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from everthread.text.english_words import is_listed_name, is_word
from everthread.text.gloss import is_glossed_word

MAX_CACHED_WORDS = 4096
_ACRONYM = re.compile("[A-Z]{2,5}s?")

# Chinese names that are words as well, such as "petrel". Many that begin so are: "little deer".
NAMED_BY_WORDS = frozenset(("安娜", "海燕", "雪梅", "文雅", "秋月", "红旗", "杨柳", "李杏", "安宁", "康乐"))
NAME_PREFIXES = ("小", "阿", "老", "大")


def is_likely_name(text: str) -> bool:
    """Return whether each word of a text is listed as a name, or not at all: "Winston", "Mirela"."""
    return all(is_listed_name(word) or not is_word(word) for word in text.lower().split())


def is_other_name(text: str) -> bool:
    """Return whether a name that is no first name is that of things, or a word: "GCSEs", "Yorkshires", "Lodger"."""
    word = text.lower()
    if _ACRONYM.fullmatch(text) or is_word(word):
        return True
    stem = word.removesuffix("s")
    return stem != word and not is_listed_name(word) and (is_listed_name(stem) or is_word(stem))


def is_chinese_word(text: str) -> bool:
    """Return whether a text in Chinese characters is a word, and hardly a name: "方案" ("plan")."""
    is_doubled = len(text) > 1 and text[0] == text[1]
    may_name = is_doubled or text in NAMED_BY_WORDS or text.startswith(NAME_PREFIXES)
    return not may_name and is_glossed_word(text)


@lru_cache(maxsize=MAX_CACHED_WORDS)
def is_name_only(word: str) -> bool:
    """Return whether a word in small letters is listed as a name, and as no other word: "danny"."""
    return is_listed_name(word) and not is_word(word)
