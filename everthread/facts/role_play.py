"""Finds the lines of a conversation that belong to a role play, in which no one speaks of their own life. Pure.

A person begins it ("let's role play", "I'll be the knight, you be the dragon"). It lasts until the person ends it
("out of character"), is silent for some hours, or has said a good deal; after that, the next sign of it begins another.
The words are data, in `role_play.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from everthread.text.word_lists import alternation, load_word_lists
from everthread.types import Line

MAX_PLAYED_LINES = 60  # of a session after its beginning: what is said later is about oneself again
MAX_PAUSE = timedelta(hours=3)
MAX_CHARS = 400  # of a line in which a beginning or an end is looked for

_LISTS = load_word_lists(__file__).values()
_BEGINS, _ENDS = (
    re.compile(alternation(each for lists in _LISTS for each in lists[name])) for name in ("begins", "ends")
)


def find_played(lines: Iterable[Line]) -> set[int]:
    """Return the numbers of the lines that belong to a role play, of consecutive lines of a bank."""
    played: set[int] = set()
    running: dict[str, tuple[Line, int]] = {}  # by session: the last line, and how many lines may follow it
    for line in lines:
        last, left = running.pop(line.session, (line, 0))
        if line.said_at - last.said_at > MAX_PAUSE:
            left = 0
        if line.role == "user":
            text = line.text[:MAX_CHARS].lower()
            if _BEGINS.search(text) is not None:
                left = MAX_PLAYED_LINES
            elif left and _ENDS.search(text) is not None:
                left = 0
        if left:
            played.add(line.seq)
            running[line.session] = line, left - 1
    return played
