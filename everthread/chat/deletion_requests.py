"""Recognises a message that asks to forget or take back what was said. Only a command or a button does so. Pure."""

from __future__ import annotations

import re

from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 120  # a longer message also states something

_REQUEST = re.compile(
    alternation(request for words in load_word_lists(__file__).values() for request in words["requests"])
)
_EDGES = " \t\n.!?…。！？"


def is_deletion_request(text: str) -> bool:
    """Return whether a message does nothing but ask to forget or take back what was said."""
    plain = text.strip(_EDGES)
    return len(plain) <= MAX_CHARS and _REQUEST.fullmatch(expand_chat_spelling(plain.lower())) is not None
