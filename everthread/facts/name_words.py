"""Tells names from other words by the list of English words. Pure."""

from __future__ import annotations

from everthread.text.english_words import is_listed_name, is_word


def is_likely_name(text: str) -> bool:
    """Return whether each word of a capitalised text is listed as a name, or not at all: "Winston", "Mirela"."""
    return all(is_listed_name(word) or not is_word(word) for word in text.lower().split())
