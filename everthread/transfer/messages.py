"""The messages of a chat API in one JSON file: a list of {"role": "user", "content": "…"}, or an object that holds the
list as "messages". Each is read as it would be as a line of its own; see `jsonl.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path

from everthread.transfer import jsonl
from everthread.transfer.files import bad, digest, load, session_id, shown
from everthread.types import NewLine

_SHAPE = frozenset(("content", *jsonl.CALLS))  # fields of which a message has one at least


def read(
    path: Path, *, tz: tzinfo = UTC, skipped: Counter[str] | None = None, places: dict[str, str] | None = None
) -> Iterator[NewLine]:
    """The messages that say something, in order: one session, called after the file and what was said first, which is
    not what the system was told."""
    value = load(path)
    found = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise bad(path, "", f"{shown(found)} is no list of messages", 'write [{"role": "user", "content": "…"}]')
    numbered = ((f"message {number}", message) for number, message in enumerate(found, 1))
    lines = list(jsonl.lines(numbered, path, tz=tz, skipped=skipped, places=places))
    first = next((line for line in lines if line.role != "system"), None)
    session = session_id(path, digest(first.key)) if first else None
    yield from (replace(line, session=line.session or session) for line in lines)


def recognised(value: object) -> bool:
    """Whether the JSON is of this kind."""
    found = value.get("messages") if isinstance(value, dict) else value
    return isinstance(found, list) and bool(found) and isinstance(found[0], dict) and not _SHAPE.isdisjoint(found[0])
