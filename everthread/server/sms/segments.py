"""How long a text is on its way to a phone, and where to part it. Pure.

A text of the GSM 03.38 alphabet goes in segments of 160 septets, 153 each where it takes several (the rest says in
which order they belong); one with any other character in segments of 70 UTF-16 units, then of 67. Of the alphabet's
second page each character takes two septets, and of what lies beyond the basic plane, emoji for instance, two units;
neither is ever cut in two by a segment's end, which then stays empty (3GPP TS 23.038 and 23.040).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")  # of the second page: behind an escape, so two septets

SINGLE_SEGMENT_UNITS, JOINED_SEGMENT_UNITS = (
    (160, 70),
    (153, 67),
)  # septets and UTF-16 units of a segment that is the only one, and of one of several
MAX_SEGMENTS = 10  # segments of a message: at most 1,530 characters, and Twilio takes 1,600
MAX_MESSAGES = 3  # of one reply: some 700 words, at the price of thirty texts

_STOPS = frozenset("。！？；，、：…")  # behind which a text without blanks may be parted
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")  # make one sign of the characters around them


def is_gsm(text: str) -> bool:
    """Whether the GSM alphabet has all of it."""
    return all(c in BASIC or c in EXTENDED for c in text)


def count_segments(text: str) -> int:
    """How many segments a text takes as one message."""
    wide = not is_gsm(text)
    total = sum(_width(c, wide) for c in text)
    return 1 if total <= SINGLE_SEGMENT_UNITS[wide] else _joined(text, wide)


def _joined(text: str, wide: bool) -> int:
    """Segments of a text that takes several: none of its characters is cut in two."""
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
    """A text in messages of at most ten segments each, parted between words where there are any. Joined they are the
    text again: the blanks at which it was parted stand at an end."""
    parts = []
    while text:
        at = _parting(text, _fitting(text))
        parts.append(text[:at])
        text = text[at:]
    return parts


def split_reply(text: str) -> list[str]:
    """A reply in messages; of one that is longer than any should be, the beginning."""
    parts = [part for each in split(text.strip()) if (part := each.strip())]
    if len(parts) <= MAX_MESSAGES:
        return parts
    last = parts[MAX_MESSAGES - 1]
    while count_segments(f"{last} ...") > MAX_SEGMENTS:
        last = last[: _parting(last, len(last) - 1)].rstrip()
    return [*parts[: MAX_MESSAGES - 1], f"{last} ..."]


def _fitting(text: str) -> int:
    """How many of the first characters fit into one message."""
    used, room, wide = [0, 0], [0, 0], False  # segments, and what is free in the last: in septets, in UTF-16 units
    for at, c in enumerate(text):
        wide = wide or not is_gsm(c)
        for way in (False, True):
            if (width := _width(c, way)) > room[way]:
                used[way], room[way] = used[way] + 1, JOINED_SEGMENT_UNITS[way]
            room[way] -= width
        if used[wide] > MAX_SEGMENTS:
            return at
    return len(text)


def _parting(text: str, most: int) -> int:
    """Where to part a text of which so many characters fit: behind a word, else behind a mark, else within a word, but
    within no sign that is made of several characters."""
    if most == len(text) or text[most].isspace():
        return most
    rules: tuple[Callable[[int], bool], ...] = (
        lambda at: text[at - 1].isspace(),
        lambda at: text[at - 1] in _STOPS,
        lambda at: not _together(text[at - 1], text[at]),
    )
    for may in rules:
        for at in range(most, most // 2, -1):
            if may(at):
                return at
    return most


def _together(c: str, following: str) -> bool:
    """Whether two characters are, or may be, parts of one sign."""
    joined = c == "\u200d" or following in _JOINERS or unicodedata.category(following) in ("Mn", "Me", "Mc")
    return joined or "\U0001f3fb" <= following <= "\U0001f3ff"  # the colours of a skin
