"""Estimates how many tokens a text has. Pure.

No model's tokenizer is shipped, because each model has its own and downloading one needs a network. `estimate_tokens`
approximates the common byte-pair tokenizers, rather with too many tokens; pass your own counter for exact numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from everthread.text.analyzer import UNSPACED

TokenCounter = Callable[[str], int]

LETTERS_PER_TOKEN = 6  # English words of up to about this length are one token
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W\d_{UNSPACED}]{{1,{LETTERS_PER_TOKEN}}}|\d{{1,3}}|[^\w\s]|_|\n+")
_ASCII_TOKEN = re.compile(rf"[A-Za-z]{{1,{LETTERS_PER_TOKEN}}}|[0-9]{{1,3}}|[^\w\s]|_|\n+")  # the same, a third faster


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens: one per six letters of a word, three digits, punctuation mark or CJK character."""
    return len((_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text))
