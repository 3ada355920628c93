"""Escapes control characters in text for a terminal. Pure.

An escape sequence in a model's reply, or in an old line, could clear the screen, rename the window, or type for the
user. Control characters are therefore shown as pictures of themselves. Stored text is not changed.
"""

from __future__ import annotations

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}  # U+241B for ESC, and so on
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}  # these have no pictures


def escape_control_chars(text: str) -> str:
    """Replace control characters; tabs and line endings stay."""
    return text.replace("\r\n", "\n").translate(_PICTURES)
