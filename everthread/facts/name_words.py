"""Distinguishes names from other words by the list of English words. Pure."""

from __future__ import annotations

from functools import lru_cache

from everthread.text.english_words import is_listed_name, is_word

MAX_CACHED_WORDS = 4096


def is_likely_name(text: str) -> bool:
    """Return whether each word of a text is listed as a name, or not at all: "Winston", "Mirela"."""
    return all(is_listed_name(word) or not is_word(word) for word in text.lower().split())


@lru_cache(maxsize=MAX_CACHED_WORDS)
def is_name_only(word: str) -> bool:
    """Return whether a word in small letters is listed as a name, and as no other word: "danny"."""
    return is_listed_name(word) and not is_word(word)
