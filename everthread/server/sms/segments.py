"""Counts the segments of a text message.

A text in the GSM 03.38 alphabet is sent in one segment of 160 septets, or in several of 153 (the rest contains their
order). A text with any other character is sent in one segment of 70 UTF-16 units, or in several of 67. A character of
the alphabet's extension table takes two septets, and a character outside the basic plane, such as an emoji, two units;
neither is split across segments, and the end of a segment remains empty instead (3GPP TS 23.038 and 23.040).
"""

from __future__ import annotations

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")  # of the extension table: two septets, because they follow an escape

# In septets, and in UTF-16 units.
SINGLE_SEGMENT_UNITS = (160, 70)
JOINED_SEGMENT_UNITS = (153, 67)
MAX_SEGMENTS = 10  # of a message: at most 1,530 characters; Twilio accepts 1,600
MAX_MESSAGES = 3  # of a reply: about 700 words, at the price of thirty segments


def is_gsm(text: str) -> bool:
    """Return whether all characters of a text are in the GSM alphabet."""
    return all(c in BASIC or c in EXTENDED for c in text)


def count_segments(text: str) -> int:
    """Return how many segments a text takes as one message."""
    wide = not is_gsm(text)
    total = sum(_width(c, wide) for c in text)
    return 1 if total <= SINGLE_SEGMENT_UNITS[wide] else _count_joined(text, wide)


def _count_joined(text: str, wide: bool) -> int:
    """Count the segments of a text that takes several."""
    count, free = 0, 0  # segments, and the free units of the last one
    for c in text:
        width = _width(c, wide)
        if width > free:
            count, free = count + 1, JOINED_SEGMENT_UNITS[wide]
        free -= width
    return count


def _width(c: str, wide: bool) -> int:
    return 1 + (c > "\uffff") if wide else 1 + (c in EXTENDED)


def count_fitting(text: str) -> int:
    """Return how many of the first characters fit into one message."""
    count, free = [0, 0], [0, 0]  # segments, and the free units of the last one, by encoding
    is_wide = False
    for position, c in enumerate(text):
        is_wide = is_wide or not is_gsm(c)
        for wide in (False, True):
            if (width := _width(c, wide)) > free[wide]:
                count[wide], free[wide] = count[wide] + 1, JOINED_SEGMENT_UNITS[wide]
            free[wide] -= width
        if count[is_wide] > MAX_SEGMENTS:
            return position
    return len(text)
