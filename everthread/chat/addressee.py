"""Finds the character of a group that should answer a message."""

from __future__ import annotations

from collections.abc import Sequence

from everthread.text.mention import find_mention
from everthread.types import Line


def find_addressee(text: str, names: Sequence[str], lines: Sequence[Line]) -> str:
    """Return the name of the character that should answer: the first that the text names, else the longest silent.

    Args:
        text: the message.
        names: the names of the characters that are present.
        lines: what was said before.
    """
    return find_named(text, names) or min(names, key=lambda name: find_last_spoken(name, lines))


def find_named(text: str, names: Sequence[str]) -> str | None:
    """Return the first of the names that a text mentions, or None. If one begins with another, the longer counts."""
    positions = {name: (match.start(), -len(name)) for name in names if (match := find_mention(name, text))}
    return min(positions, key=lambda name: positions[name]) if positions else None


def find_last_spoken(name: str, lines: Sequence[Line]) -> int:
    """Return the position of a speaker's last line, or -1."""
    return max((position for position, line in enumerate(lines) if line.speaker == name), default=-1)
