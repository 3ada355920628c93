"""Limits the lines in an answer, because clients refuse to show a long one: Claude Code, one of 25,000 tokens. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everthread.text.sentences import truncate
from everthread.text.tokens import estimate_tokens
from everthread.types import Line

MAX_TOKENS = 10_000  # of the lines of an answer, which has each of them twice: as text and as data
LINE_TOKENS = 32  # of the number, speaker and time of a line in either of them, on average
CUT_MARK = " […]"


def select_shown(lines: Sequence[Line], middle: int) -> list[Line]:
    """Return as many lines around one as an answer can have, in their order.

    Args:
        lines: the lines of a conversation.
        middle: the index of the line, which is cut if it is too long by itself.
    """
    room, shown = MAX_TOKENS, {middle: replace(lines[middle], text=cut_text(lines[middle].text, MAX_TOKENS))}
    for index in sorted(range(len(lines)), key=lambda index: abs(index - middle)):
        room -= estimate_tokens(lines[index].text) + LINE_TOKENS
        if room < 0:
            break
        shown[index] = lines[index]
    return [shown[index] for index in sorted(shown)]


def cut_text(text: str, limit: int) -> str:
    """Return a text, or its beginning and a mark if it has more than `limit` tokens."""
    return text if estimate_tokens(text) <= limit else truncate(text, limit) + CUT_MARK
