"""Cleans the title that a model gives to a conversation, and rejects what can't be a title. Pure."""

from __future__ import annotations

import re

from everthread.scribes.responses import Unusable

MAX_TITLE_CHARS = 60
MAX_TITLE_WORDS = 10

_THOUGHT = re.compile(r"(?s)<think(?:ing)?>.*?</think(?:ing)?>|^.*</think(?:ing)?>|<think(?:ing)?>.*")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_LABEL = re.compile(r"(?i)^\W*(?:title|titel|titre|título|标题|標題|タイトル)\W{0,2}[:：]")
_LIST_MARK = re.compile(r"^(?:#{1,6}|[-*+•>]|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_EDGES = " \"'“”„‟‘’‚«»‹›「」『』《》〈〉.。．…,、;:：-–—"


def clean_title(answer: str) -> str:
    """Return a title as one row without thoughts, markup, quotation marks and full stop.

    Raises:
        Unusable: it is too long, or no word is left.
    """
    text = _EMPHASIS.sub("", _TAG.sub("", _LINK.sub(r"\1", _THOUGHT.sub("", answer))))
    row = next((row for row in map(_clean_row, text.splitlines()) if any(map(str.isalnum, row))), "")
    if not row:
        raise Unusable("its title had no words")
    if len(row) > MAX_TITLE_CHARS or len(row.split()) > MAX_TITLE_WORDS or "://" in row:
        raise Unusable("its title was too long")
    return row


def _clean_row(row: str) -> str:
    """Return a row without what surrounds a title in it, and with single spaces."""
    printable = "".join(char if char.isprintable() else " " for char in row)
    row = _LABEL.sub("", _LIST_MARK.sub("", " ".join(printable.split())))
    return row.strip(_EDGES)
