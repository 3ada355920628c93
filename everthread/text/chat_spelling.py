"""Writes words of chats out ("u" for "you", "whats" for "what is"), so that patterns need only the usual spelling."""

from __future__ import annotations

import re

from everthread.text.word_lists import load_word_lists

_MEANINGS = {typed: meant for words in load_word_lists(__file__).values() for typed, meant in words.items()}
_CAPITALIZED = {typed.capitalize(): meant.capitalize() for typed, meant in _MEANINGS.items() if len(typed) > 1}
_ALL = _CAPITALIZED | _MEANINGS
_WORD = re.compile(rf"(?<![\w'’&@#./-])[A-Za-z\d]{{1,{max(map(len, _ALL))}}}(?![\w'’&@/-]|\.\w)")


def expand_chat_spelling(text: str) -> str:
    """Write out the words of a text that are typed as in chats, except a single capital letter."""
    return _WORD.sub(lambda match: _ALL.get(match[0], match[0]), text)
