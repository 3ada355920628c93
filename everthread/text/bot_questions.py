"""Recognises what people ask a bot that no memory answers: the time, the bot itself, or to write something. Pure.

In a small bank the nearest line to "What day is it?" is a birthday, and to "What's your name?" the person's.
"""

from __future__ import annotations

import re
from enum import Enum

from everthread.text.analyzer import fold
from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 200  # of a question or an order; a longer text says more

_EDGES = " \t\n?!.,…¿¡"
_LISTS = load_word_lists(__file__)


class BotQuestion(Enum):
    """The questions to a bot that no memory answers."""

    CLOCK = "clock"  # "What time is it?"
    BOT = "bot"  # "What's your name?"
    ORDERS = "orders"  # "Write me a poem."


def _compile(kind: BotQuestion) -> re.Pattern[str]:
    end = ".*" if kind is BotQuestion.ORDERS else ""
    return re.compile(
        f"{fold(alternation(form for lists in _LISTS.values() for form in lists[kind.value]))}{end}", re.DOTALL
    )


_PATTERNS = {kind: _compile(kind) for kind in BotQuestion}


def find_bot_question(text: str) -> BotQuestion | None:
    """Return what a message asks of a bot, in any of the languages; None if it asks for something else."""
    if len(text) > MAX_CHARS:
        return None
    readings = [fold(reading).strip(_EDGES) for reading in (text, expand_chat_spelling(text))]
    return next((kind for kind, pattern in _PATTERNS.items() if any(map(pattern.fullmatch, readings))), None)
