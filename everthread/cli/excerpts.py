"""Shortens long texts for the terminal: to a row, or to the part in which a search found something."""

from __future__ import annotations

from everthread.recall.excerpt import choose_excerpt
from everthread.text.analyzer import analyze
from everthread.text.tokens import estimate_tokens

MAX_SHOWN_CHARS = 2000  # of a line: about a screen, so that it doesn't hide the others
EXCERPT_TOKENS = 300
MAX_ROW_CHARS = 70  # of a line in a list


def shorten_to_match(text: str, query: str = "") -> str:
    """Return a text or, if it is long, an excerpt with a note.

    Args:
        text: the text of a line or a unit.
        query: what was searched for, words or a part of one; without it, the excerpt is the beginning.
    """
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    excerpt = choose_excerpt(text, analyze(query)[0], EXCERPT_TOKENS, estimate_tokens) or text[:MAX_SHOWN_CHARS]
    if query.lower() not in excerpt.lower() and (place := text.lower().find(query.lower())) >= 0:
        start = max(place - MAX_SHOWN_CHARS // 2, 0)
        excerpt = f"{'… ' if start else ''}{text[start : start + MAX_SHOWN_CHARS]} …"
    return f"{excerpt}\n({len(text):,} characters; --json shows all of them)"


def shorten(text: str, length: int = MAX_ROW_CHARS) -> str:
    """Return the beginning of a text, in one row."""
    row = " ".join(text[: 10 * length].split())
    return row[:length] + ("…" if len(row) > length or len(text) > 10 * length else "")
