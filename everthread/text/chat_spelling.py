"""Writes words of chats out ("u" for "you", "whats" for "what is"), so that patterns need only the usual spelling."""

from __future__ import annotations

import re

from everthread.text.word_lists import alternation, load_word_lists

_MEANINGS = {typed: meant for words in load_word_lists(__file__).values() for typed, meant in words.items()}
_CAPITALIZED = {typed.capitalize(): meant.capitalize() for typed, meant in _MEANINGS.items() if len(typed) > 1}
_ALL = _CAPITALIZED | _MEANINGS
_TYPED = re.compile(rf"(?<![\w'’&@#./-]){alternation(sorted(_ALL, key=len, reverse=True))}(?![\w'’&@/-]|\.\w)")


def expand_chat_spelling(text: str) -> str:
    """Write out the words of a text that are typed as in chats, except a single capital letter."""
    return _TYPED.sub(lambda match: _ALL[match[0]], text)
