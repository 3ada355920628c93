"""Parses JSON of any depth. `json` calls itself for each level, and parses at most about five hundred levels."""

from __future__ import annotations

import json
import re

_BLANK = re.compile(r"[ \t\n\r]*")
_SCAN = json.JSONDecoder().raw_decode

Container = list[object] | dict[str, object]


def parse_deep_json(text: str) -> object:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON.
    """
    root: list[object] = []
    stack: list[Container] = [root]  # open lists and objects
    position, is_first = _skip_blanks(text, 0), True
    while stack:
        container = stack[-1]
        mark = text[position : position + 1]
        if container is root and root:
            break
        if container is not root and mark == ("]" if isinstance(container, list) else "}"):
            stack.pop()
            position, is_first = _skip_blanks(text, position + 1), False
            continue
        if not is_first:
            position = _expect(text, position, ",")
        name = ""
        if isinstance(container, dict):
            name, position = _read_name(text, position)
        value, position = _read_value(text, position)
        if isinstance(container, dict):
            container[name] = value
        else:
            container.append(value)
        is_first = isinstance(value, list | dict)
        if isinstance(value, list | dict):
            stack.append(value)
    if position != len(text):
        raise ValueError(f"more than one value, at character {position:,}")
    return root[0]


def _read_value(text: str, position: int) -> tuple[object, int]:
    """Return the value at a position and the position after it; of a list or an object only its beginning."""
    mark = text[position : position + 1]
    if mark in ("[", "{"):
        value: Container = [] if mark == "[" else {}
        return value, _skip_blanks(text, position + 1)
    scalar, end = _SCAN(text, position)
    return scalar, _skip_blanks(text, end)


def _read_name(text: str, position: int) -> tuple[str, int]:
    """Return the name of a member and the position of its value."""
    if text[position : position + 1] != '"':
        raise ValueError(f"no name of a member at character {position:,}")
    name, end = _read_value(text, position)
    return str(name), _expect(text, end, ":")


def _expect(text: str, position: int, mark: str) -> int:
    """Return the position after a character, which must be at this one."""
    if text[position : position + 1] != mark:
        raise ValueError(f"no {mark!r} at character {position:,}")
    return _skip_blanks(text, position + 1)


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
