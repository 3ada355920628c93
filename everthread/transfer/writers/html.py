"""Writes sessions as one HTML page, without scripts and without anything to load, in light and dark colours."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from everthread.transfer.writers.branches import Branch
from everthread.transfer.writers.dates import format_clock, format_day, name_session
from everthread.transfer.writers.session_record import SessionRecord, Turn
from everthread.types import Line

STYLE_FILE = Path(__file__).with_name("page.css")
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="Everthread">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
"""
_END = "</main>\n</body>\n</html>\n"


def write(records: Iterator[SessionRecord]) -> Iterator[str]:
    """Yield the page with all sessions."""
    first = next(records, None)
    title = "Conversations" if first is None else _name_conversations(first)
    yield _HEAD.format(title=escape(title), style=STYLE_FILE.read_text(encoding="utf-8"))
    yield f"<h1>{escape(title)}</h1>\n"
    if first is not None:
        yield from _format_session(first)
    for record in records:
        yield from _format_session(record)
    yield _END


def _name_conversations(record: SessionRecord) -> str:
    """Return the title of a page: the person has conversations with several characters."""
    spoke = any(turn.line.role == "user" and turn.line.speaker != "user" for turn in record.turns)
    return f"Conversations of {record.person}" if spoke else f"Conversations in the bank {record.bank}"


def _format_session(record: SessionRecord) -> Iterator[str]:
    yield f'<section>\n<h2 dir="auto">{escape(name_session(record.title, record.session))}</h2>\n'
    yield from map(_format_branch, record.branches)
    day = ""
    for turn in record.turns:
        if (new_day := format_day(turn.line)) != day:
            day = new_day
            yield f'<h3 class="date">{day}</h3>\n'
        yield _format_turn(turn)
    yield "</section>\n"


def _format_turn(turn: Turn) -> str:
    side = _name_side(turn.line)
    branches = "".join(map(_format_branch, turn.branches))
    return f'<article class="{side}">\n{_format_line(turn.line)}{branches}</article>\n'


def _format_branch(branch: Branch) -> str:
    lines = "".join(f'<div class="{_name_side(line)}">\n{_format_line(line)}</div>\n' for line in branch.lines)
    return f"<details><summary>{branch.name}</summary>\n{lines}</details>\n"


def _format_line(line: Line) -> str:
    byline = f'<b dir="auto">{escape(line.speaker)}</b>{_format_time(line)}'
    return f'<p class="byline">{byline}</p>\n<p class="text" dir="auto">{escape(line.text)}</p>\n'


def _name_side(line: Line) -> str:
    return "person" if line.role == "user" else "character"


def _format_time(line: Line) -> str:
    at = line.said_at.isoformat(timespec="milliseconds")
    return "" if line.is_undated else f' <time datetime="{at}">{format_clock(line)}</time>'
