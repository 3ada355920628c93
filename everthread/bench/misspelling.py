"""Misspells a word of each question, as people do when they type."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from everthread.bench.datasets import AnnotatedConversation
from everthread.text.analyzer import STOP_WORDS, normalize
from everthread.text.spelling import KEYS

MIN_LETTERS = 5  # of a word that is misspelt

_WORD = re.compile(rf"[A-Za-z]{{{MIN_LETTERS},}}")


def misspell_questions(conversation: AnnotatedConversation) -> AnnotatedConversation:
    """Return a conversation with one word of each question misspelt that is neither a function word nor a speaker."""
    chance = random.Random(conversation.id)
    questions = tuple(
        replace(each, text=misspell(each.text, conversation.speakers, chance)) for each in conversation.questions
    )
    return replace(conversation, questions=questions)


def misspell(text: str, names: Sequence[str], chance: random.Random) -> str:
    """Misspell one word of a text, or none if it has only function words and names."""
    parts = {part for name in names for part in normalize(name).split()}
    words = [match for match in _WORD.finditer(text) if STOP_WORDS.union(parts).isdisjoint((match[0].lower(),))]
    if not words:
        return text
    word = chance.choice(words)
    return text[: word.start()] + _misspell_word(word[0], chance) + text[word.end() :]


def _misspell_word(word: str, chance: random.Random) -> str:
    """Swap two letters of a word, leave one out, double one, or hit the key beside one; the first letter stays."""
    at = chance.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    swapped = before + after[0] + letter + after[1:]
    doubled, left_out = before + letter + letter + after, before + after
    changed = before + _key_beside(letter) + after
    return chance.choice([each for each in (swapped, left_out, doubled, changed) if each != word])


def _key_beside(letter: str) -> str:
    """Return the letter on the key to the right of a letter's, or to the left of the last one in its row."""
    row = next(row for row in KEYS if letter.lower() in row)
    at = row.index(letter.lower())
    return row[at + 1] if at + 1 < len(row) else row[at - 1]
