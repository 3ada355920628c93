"""Refusals: replies in which a model refuses, and the character does not speak. Such a reply is better not remembered,
since it would be recalled as something that the character said.

Each refusing phrase takes intensity · weight · 100 from a score of 100, and a reply below 90 is a refusal. The
intensity is 0 to 2; the weight is 1 at the very beginning and halves every few words, so that a refusing phrase deep
inside a real answer does not condemn it. Excuses give back a part: "Sorry" alone refuses nothing where the character is
late. (The scoring of the Emi chatbot; the excuses are our own.)
"""

from __future__ import annotations

import re

from everthread.text.analyzer import UNSPACED, normalize
from everthread.text.refusal_words import RefusalWords, load

MIN_REPLY_SCORE = 90  # of 100, for a reply to be the character's
WEIGHT_HALVING_WORDS = 6  # words, or characters of Chinese, after which a phrase weighs half as much
MAX_READ_CHARS = 2_000  # characters; a phrase after them weighs nothing
MAX_EXCUSED = 0.4  # the most that excuses give back: what a real refusal takes is more

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:'[^\W_{UNSPACED}]+)*")


def is_refusal(text: str, words: RefusalWords | None = None) -> bool:
    """Return whether a reply is a model's refusal.

    Args:
        text: the reply.
        words: the dictionary. Default: the configured one.
    """
    return reply_score(text, words) < MIN_REPLY_SCORE


def reply_score(text: str, words: RefusalWords | None = None) -> float:
    """Return 100 less what the refusing phrases take and the excuses don't give back; may be below 0.

    Args:
        text: the reply.
        words: the dictionary. Default: the configured one.
    """
    words = words or load()
    folded = normalize(text[:MAX_READ_CHARS])
    taken = 0.0
    for phrase, found in words.refusing(folded):
        taken += phrase.intensity * position_weight(folded[: found.start()])
    if not taken:
        return 100.0
    excused = sum(phrase.intensity for phrase in words.excuses if phrase.search(folded))
    return 100 * (1 - max(taken - min(excused, MAX_EXCUSED), 0.0))


def position_weight(before: str) -> float:
    """Return the weight of a phrase after this text: 1 at the beginning, halved by each WEIGHT_HALVING_WORDS words."""
    return float(0.5 ** (len(_WORD.findall(before)) / WEIGHT_HALVING_WORDS))
