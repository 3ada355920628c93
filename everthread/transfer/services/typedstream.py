"""Reads the text of an attributed string in Apple's typedstream format, in which its styles and links follow it."""

from __future__ import annotations

STRING_CLASS = b"NSString"  # in the stream once, before the text
TEXT_TYPE = b"\x01+"  # the type of the value that follows: bytes with their length
MAX_SHORT = 0x7F  # a length of one byte
_LONG = {0x81: 2, 0x82: 4}  # the bytes of a longer length, by the byte before them


def read_text(stream: bytes) -> str:
    """Return the text of an attributed string.

    Args:
        stream: the string, as in the column `attributedBody` of the Messages app.

    Raises:
        ValueError: it is another value, or damaged.
    """
    string = stream.find(STRING_CLASS)
    start = stream.find(TEXT_TYPE, string)
    if string < 0 or start < 0:
        raise ValueError("no text in the typedstream")
    length, begin = _read_length(stream, start + len(TEXT_TYPE))
    if len(stream) < begin + length:
        raise ValueError(f"the typedstream ends after {len(stream) - begin} of {length} bytes of text")
    return stream[begin : begin + length].decode()


def _read_length(stream: bytes, at: int) -> tuple[int, int]:
    """Return the length at a place, and the place after it. Raises ValueError."""
    first = stream[at] if at < len(stream) else MAX_SHORT + 1
    if first <= MAX_SHORT:
        return first, at + 1
    end = at + 1 + _LONG.get(first, len(stream))
    if end > len(stream):
        raise ValueError("no length before the text of the typedstream")
    return int.from_bytes(stream[at + 1 : end], "little"), end
