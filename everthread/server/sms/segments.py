"""Counts the segments of a text message, and splits long texts. Pure.

A text in the GSM 03.38 alphabet is sent in segments of 160 septets, or of 153 each if there are several (the rest
contains their order); one with any other character in segments of 70 UTF-16 units, or 67. Each character of the
alphabet's extension table takes two septets, and each outside the basic plane, such as an emoji, two units; neither is
split across segments, and the end of a segment remains empty instead (3GPP TS 23.038 and 23.040).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")  # of the extension table: after an escape, so two septets

# Septets, and UTF-16 units.
SINGLE_SEGMENT_UNITS = (160, 70)
JOINED_SEGMENT_UNITS = (153, 67)
MAX_SEGMENTS = 10  # of a message: at most 1,530 characters; Twilio accepts 1,600
MAX_MESSAGES = 3  # of a reply: some 700 words, at the price of thirty texts

_STOPS = frozenset("。！？；，、：…")  # a text without spaces may be split after one of these
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")  # combine the characters around them into one sign


def is_gsm(text: str) -> bool:
    """Return whether the GSM alphabet has all characters of a text."""
    return all(c in BASIC or c in EXTENDED for c in text)


def count_segments(text: str) -> int:
    """Return how many segments a text takes as one message."""
    wide = not is_gsm(text)
    total = sum(_width(c, wide) for c in text)
    return 1 if total <= SINGLE_SEGMENT_UNITS[wide] else _count_joined(text, wide)


def _count_joined(text: str, wide: bool) -> int:
    """Count the segments of a text that takes several."""
    count, room = 0, 0
    for c in text:
        width = _width(c, wide)
        if width > room:
            count, room = count + 1, JOINED_SEGMENT_UNITS[wide]
        room -= width
    return count


def _width(c: str, wide: bool) -> int:
    return 1 + (c > "\uffff") if wide else 1 + (c in EXTENDED)


def split(text: str) -> list[str]:
    """Split a text into messages of at most MAX_SEGMENTS segments each, between words if possible.

    Joined they are the text again; the spaces between them are at the ends.
    """
    parts = []
    while text:
        at = _find_split(text, _count_fitting(text))
        parts.append(text[:at])
        text = text[at:]
    return parts


def split_reply(text: str) -> list[str]:
    """Split a reply into at most MAX_MESSAGES messages; a longer one is cut."""
    parts = [part for each in split(text.strip()) if (part := each.strip())]
    if len(parts) <= MAX_MESSAGES:
        return parts
    last = parts[MAX_MESSAGES - 1]
    while count_segments(f"{last} ...") > MAX_SEGMENTS:
        last = last[: _find_split(last, len(last) - 1)].rstrip()
    return [*parts[: MAX_MESSAGES - 1], f"{last} ..."]


def _count_fitting(text: str) -> int:
    """Return how many of the first characters fit into one message."""
    used, room, wide = [0, 0], [0, 0], False  # segments, and the free units of the last one
    for at, c in enumerate(text):
        wide = wide or not is_gsm(c)
        for way in (False, True):
            if (width := _width(c, way)) > room[way]:
                used[way], room[way] = used[way] + 1, JOINED_SEGMENT_UNITS[way]
            room[way] -= width
        if used[wide] > MAX_SEGMENTS:
            return at
    return len(text)


def _find_split(text: str, most: int) -> int:
    """Return where to split a text of which `most` characters fit.

    After a word, otherwise after a punctuation mark, otherwise within a word, but not within a sign that is made of
    several characters.
    """
    if most == len(text) or text[most].isspace():
        return most
    rules: tuple[Callable[[int], bool], ...] = (
        lambda at: text[at - 1].isspace(),
        lambda at: text[at - 1] in _STOPS,
        lambda at: not _is_one_sign(text[at - 1], text[at]),
    )
    for allows in rules:
        for at in range(most, most // 2, -1):
            if allows(at):
                return at
    return most


def _is_one_sign(c: str, following: str) -> bool:
    """Return whether two characters are, or may be, parts of one sign."""
    joined = c == "\u200d" or following in _JOINERS or unicodedata.category(following) in ("Mn", "Me", "Mc")
    return joined or "\U0001f3fb" <= following <= "\U0001f3ff"  # skin tones
