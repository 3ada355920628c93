"""Splits long texts into messages, between words if possible.

How much fits into one message is the channel's: a function returns how many of the first characters of a text do. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

FittingCounter = Callable[[str], int]

_STOPS = frozenset("。！？；，、：…")  # a text without spaces may be split after one of these
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")  # combine the characters around them into one sign


def split(text: str, count_fitting: FittingCounter) -> list[str]:
    """Split a text into messages that fit.

    The joined messages equal the text; a space between two of them is at the end of the first.
    """
    parts = []
    while text:
        end = _find_split(text, count_fitting(text))
        parts.append(text[:end])
        text = text[end:]
    return parts


def split_reply(text: str, count_fitting: FittingCounter, max_messages: int) -> list[str]:
    """Split a reply into at most `max_messages` stripped messages that fit; a longer reply is cut."""
    parts = [stripped for part in split(text.strip(), count_fitting) if (stripped := part.strip())]
    if len(parts) <= max_messages:
        return parts
    last = parts[max_messages - 1]
    while count_fitting(cut := f"{last} ...") < len(cut):
        last = last[: _find_split(last, len(last) - 1)].rstrip()
    return [*parts[: max_messages - 1], cut]


def _find_split(text: str, most: int) -> int:
    """Return where to split a text of which `most` characters fit.

    The split is after a word, else after a punctuation mark, else within a word, but not within a sign that consists of
    several characters.
    """
    if most == len(text) or text[most].isspace():
        return most
    rules: tuple[Callable[[int], bool], ...] = (
        lambda position: text[position - 1].isspace(),
        lambda position: text[position - 1] in _STOPS,
        lambda position: not _is_one_sign(text[position - 1], text[position]),
    )
    for allows in rules:
        for position in range(most, most // 2, -1):
            if allows(position):
                return position
    return most


def _is_one_sign(c: str, following: str) -> bool:
    """Return whether two characters may be parts of one sign."""
    joined = c == "\u200d" or following in _JOINERS or unicodedata.category(following) in ("Mn", "Me", "Mc")
    return joined or "\U0001f3fb" <= following <= "\U0001f3ff"  # skin tones
