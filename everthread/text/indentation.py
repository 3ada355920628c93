"""Indents quoted text in a prompt, so that only the layout's own rows begin at the left margin. Pure."""

from __future__ import annotations

import re

INDENT = "  "
_INVISIBLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_HEADING = re.compile(rf"{_INVISIBLE}(?:[\[［【〔]|\((?:it is|nobody has|the conversation)\b)", re.IGNORECASE)
_ROLE = re.compile(rf"{_INVISIBLE}(?:system|developer|tool|user|assistant|human|ai)[ \t]*[:：]", re.IGNORECASE)


def indent(text: str, speaker: str = "", all_rows: bool = True) -> str:
    """Indent rows of a text, so that none passes for a heading, another speaker's words or a role of the chat API.

    Args:
        text: the text. A row ends with any line boundary of `str.splitlines`: \\n, \\r, \\v, U+0085, U+2028 …
        speaker: the name to put before the first row; empty for none.
        all_rows: whether to indent all further rows, or only those that look like the layout's own. A model copies the
            form of its own texts, so these are changed as little as possible.

    Returns:
        The text with its label. The first row is indented too if it looks like the layout's own.
    """
    rows = text.splitlines(keepends=not all_rows)
    first, further = (rows[0], rows[1:]) if rows else ("", [])
    if speaker:
        first = f"{join_rows(speaker)}: {first}"
    if _HEADING.match(first) or (not speaker and _ROLE.match(first)):
        first = INDENT + first
    if not further:
        return first
    if all_rows:
        return f"\n{INDENT}".join([first, *further])
    return first + "".join(INDENT + row if _HEADING.match(row) or _ROLE.match(row) else row for row in further)


def join_rows(text: str) -> str:
    """Join the rows of a name or a place with spaces."""
    return " ".join(text.splitlines())
