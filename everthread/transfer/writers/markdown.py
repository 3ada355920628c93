"""Writes sessions as Markdown: a heading for each session and each day, and what was said, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from everthread.transfer.writers.branches import Branch
from everthread.transfer.writers.dates import format_clock, format_day, name_session
from everthread.transfer.writers.session_record import SessionRecord, Turn
from everthread.types import Line

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


def write(records: Iterator[SessionRecord]) -> Iterator[str]:
    """Yield the text of all sessions."""
    gap = ""
    for record in records:
        yield f"{gap}# {_escape(name_session(record.title, record.session))}\n"
        gap = "\n"
        yield from map(_format_branch, record.branches)
        day = ""
        for turn in record.turns:
            if (new_day := format_day(turn.line)) != day:
                day = new_day
                yield f"\n## {day}\n"
            yield _format_turn(turn)


def _format_turn(turn: Turn) -> str:
    branches = "".join(map(_format_branch, turn.branches))
    return f"\n{_format_byline(turn.line)}\n\n{turn.line.text}\n{branches}"


def _format_byline(line: Line) -> str:
    clock = format_clock(line)
    return f"**{_escape(line.speaker)}**{f' ({clock})' if clock else ''}"


def _format_branch(branch: Branch) -> str:
    texts = "".join(f"\n\n{_format_byline(line)}\n\n{line.text}" for line in branch.lines)
    return f"\n{_quote(branch.name + ':' + texts)}\n"


def _quote(text: str) -> str:
    return "\n".join(f"> {row}".rstrip() for row in text.splitlines())


def _escape(text: str) -> str:
    """Return a name or a title on one line, without Markdown in it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
