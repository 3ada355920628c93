"""Swipes: the replies that stood where a conversation's last reply stands, before they were given again. Any of them
can be gone back to: `Chat.branch` with its number."""

from __future__ import annotations

from collections.abc import Sequence

from everthread.chat.prompt_builder import is_character_line
from everthread.common.keys import META_REPEATS
from everthread.memory import Memory
from everthread.types import Filter, Line


def alternatives(memory: Memory, lines: Sequence[Line]) -> list[Line]:
    """The replies to what was said last, in a conversation as it stands, the last reply itself among them; oldest
    first, each once also where it was gone back to. None where the last line is no reply."""
    last = lines[-1] if lines else None
    if last is None or not is_character_line(last):
        return []
    if last.parent is None or last.seq < 0:  # a greeting; or said in private, where nothing is kept
        return [last]
    found: dict[int, Line] = {}  # by the number under which each was said first
    firsts: dict[object, int] = {}
    for line in memory.lines(Filter(session=last.session), after=last.parent, retracted=True):
        if line.parent == last.parent and is_character_line(line) and not line.metadata.get("refused"):
            first = firsts[line.seq] = firsts.get(line.metadata.get(META_REPEATS), line.seq)
            found[first] = line
    return list(found.values())
