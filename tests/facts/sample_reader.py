"""A reader of statements for tests: it understands a few sentences of a fixed form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from everthread.facts.types import Statement
from everthread.types import Line

_FORMS = (
    (re.compile(r"I live in (\w+)(?: since ([\d-]+))?"), "home", False),
    (re.compile(r"I no longer live in (\w+)(?: since ([\d-]+))?"), "home", True),
    (re.compile(r"I like (\w+)"), "likes", False),
    (re.compile(r"I no longer like (\w+)"), "likes", True),
    (re.compile(r"I own the (\w+)"), "owns", False),
    (re.compile(r"I sold the (\w+)"), "owns", True),
)
_RELATION = re.compile(r"[Mm]y (sister|friend|partner|son|pet|colleague) is (\w+)")
_OF_RELATIVE = re.compile(r"[Mm]y (sister|friend|partner|son|pet|colleague) lives in (\w+)")
_OF_NAMED = re.compile(r"(\w+) lives in (\w+)")
_NAME = re.compile(r"I am called (\w+)")


def read_statements(lines: Sequence[Line], known: Sequence[Statement] = ()) -> list[Statement]:
    """Return what lines of the known forms state."""
    return [statement for line in lines for statement in _read(line)]


def _read(line: Line) -> Iterator[Statement]:
    at = (line.seq,), line.said_at
    for form, attribute, ends in _FORMS:
        for match in form.finditer(line.text):
            moment = match[2] if match.re.groups > 1 else None
            yield Statement(line.speaker, attribute, match[1], *at, ends=ends, moment=moment)
    for match in _RELATION.finditer(line.text):
        yield Statement(line.speaker, match[1], match[2], *at)
    for match in _OF_RELATIVE.finditer(line.text):
        yield Statement(f"{line.speaker}'s {match[1]}", "home", match[2], *at)
    for match in _OF_NAMED.finditer(line.text):
        if match[1] not in ("sister", "friend", "partner", "son", "pet", "colleague"):
            yield Statement(match[1], "home", match[2], *at)
    for match in _NAME.finditer(line.text):
        yield Statement(line.speaker, "name", match[1], *at)
