"""Writes sessions as one HTML page, without scripts and without anything to load, in light and dark colours."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

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
    title = "Conversations" if first is None else f"Conversations with {first.character}"
    yield _HEAD.format(title=escape(title), style=STYLE_FILE.read_text(encoding="utf-8"))
    yield f"<h1>{escape(title)}</h1>\n"
    if first is not None:
        yield from _format_session(first)
    for record in records:
        yield from _format_session(record)
    yield _END


def _format_session(record: SessionRecord) -> Iterator[str]:
    yield f'<section>\n<h2 dir="auto">{escape(name_session(record.title, record.session))}</h2>\n'
    day = ""
    for turn in record.turns:
        if (new_day := format_day(turn.line)) != day:
            day = new_day
            yield f'<h3 class="date">{day}</h3>\n'
        yield _format_turn(turn)
    yield "</section>\n"


def _format_turn(turn: Turn) -> str:
    line = turn.line
    side = "person" if line.role == "user" else "character"
    others = "".join(
        f'<details><summary>Another reply</summary><p class="text" dir="auto">{escape(other.text)}</p></details>\n'
        for other in turn.others
    )
    byline = f'<b dir="auto">{escape(line.speaker)}</b>{_format_time(line)}'
    return (
        f'<article class="{side}">\n<p class="byline">{byline}</p>\n'
        f'<p class="text" dir="auto">{escape(line.text)}</p>\n{others}</article>\n'
    )


def _format_time(line: Line) -> str:
    at = line.said_at.isoformat(timespec="milliseconds")
    return "" if line.is_undated else f' <time datetime="{at}">{format_clock(line)}</time>'
