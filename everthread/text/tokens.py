"""How many tokens a text is. Pure.

No model's tokenizer ships here, because each has its own and fetching one needs a network. `estimate` counts what the
common byte-pair tokenizers make of a text, on the safe side; pass your own counter for exact numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from everthread.text.analyzer import UNSPACED

Counter = Callable[[str], int]

LETTERS = 6  # of a word in one token: common English words are one token up to about this length, and most are common
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W\d_{UNSPACED}]{{1,{LETTERS}}}|\d{{1,3}}|[^\w\s]|_|\n+")


def estimate(text: str) -> int:
    """About how many tokens the text is: each six letters of a word, three digits, mark or CJK character is one."""
    return len(_TOKEN.findall(text))
