"""Recognises refusals: replies in which the model refuses instead of speaking as the character.

A refusal should not be remembered, since it would be recalled as the character's words. Each refusing phrase takes
intensity · weight · 100 from a score of 100, and a reply below 90 is a refusal. The intensity is 0 to 2; the weight is
1 at the very beginning and halves every few words, so that a refusing phrase late in a real answer hardly counts.
Excuses give back a part of the score: "Sorry I'm late" is not a refusal. The scoring is that of the Emi chatbot;
excuses are an addition.
"""

from __future__ import annotations

import re

from everthread.text.analyzer import UNSPACED, normalize
from everthread.text.refusal_words import RefusalWords, load

MIN_REPLY_SCORE = 90  # of 100; a lower score is a refusal
WEIGHT_HALVING_WORDS = 6  # words, or Chinese characters, after which a phrase weighs half as much
MAX_READ_CHARS = 2_000  # characters of a reply that are read
MAX_EXCUSED = 0.4  # the greatest intensity that excuses give back; a real refusal takes more

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:'[^\W_{UNSPACED}]+)*")


def is_refusal(text: str, words: RefusalWords | None = None) -> bool:
    """Return whether a reply is a model's refusal.

    Args:
        text: the reply.
        words: the dictionary. Default: the configured one.
    """
    return reply_score(text, words) < MIN_REPLY_SCORE


def reply_score(text: str, words: RefusalWords | None = None) -> float:
    """Compute the score of a reply: 100 minus the penalty of its refusing phrases, which excuses reduce.

    The score may be below 0.

    Args:
        text: the reply.
        words: the dictionary. Default: the configured one.
    """
    words = words or load()
    folded = normalize(text[:MAX_READ_CHARS])
    penalty = 0.0
    for phrase, match in words.find_phrases(folded):
        penalty += phrase.intensity * position_weight(folded[: match.start()])
    if not penalty:
        return 100.0
    bonus = sum(phrase.intensity for phrase in words.excuses if phrase.search(folded))
    return 100 * (1 - max(penalty - min(bonus, MAX_EXCUSED), 0.0))


def position_weight(before: str) -> float:
    """Compute the weight of a phrase from the text before it: 1, halved by every WEIGHT_HALVING_WORDS words."""
    return float(0.5 ** (len(_WORD.findall(before)) / WEIGHT_HALVING_WORDS))
