"""Reads the lines of a session for scribes, without quotes of recalled text and without greetings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everthread.common.keys import META_GREETING, META_UNDATED
from everthread.memory import Memory
from everthread.text.analyzer import remove_quotes
from everthread.types import Filter, JSONValue, Line


def read_lines(memory: Memory, session: str, first_seq: int, last_seq: int) -> list[Line]:
    """Return the lines of a session that were not retracted, without quotes of recalled text and without greetings."""
    lines = []
    for line in memory.lines(Filter(session=session), after=first_seq - 1):
        if line.seq > last_seq:
            break
        text = remove_quotes(line.text, line.metadata).strip()
        if text and not line.metadata.get(META_GREETING):
            lines.append(replace(line, text=text))
    return lines


def mark_undated(lines: Sequence[Line]) -> dict[str, JSONValue]:
    """Return the metadata of a unit whose time is that of the last of these lines."""
    return {META_UNDATED: True} if lines[-1].is_undated else {}
