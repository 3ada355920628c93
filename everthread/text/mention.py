"""Finds a name in a text."""

from __future__ import annotations

import re

from everthread.text.analyzer import is_unspaced_script


def find_mention(name: str, text: str, *, case_sensitive: bool = False) -> re.Match[str] | None:
    """Find a name in a text: as a whole word, unless its script has no spaces between words."""
    word = re.escape(name) if is_unspaced_script(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.search(word, text, 0 if case_sensitive else re.IGNORECASE)
