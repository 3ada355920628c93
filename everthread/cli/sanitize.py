"""What may be written to a terminal. Pure.

A terminal obeys what it is shown: an escape sequence in a model's reply, or in a line remembered years ago, could clear
the screen, name the window, or type for the person. So control characters are shown as pictures of themselves. What is
stored stays as it was said.
"""

from __future__ import annotations

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}  # U+241B for ESC, and so on
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}  # there are no pictures of these


def escape_control_chars(text: str) -> str:
    """The text without what could drive a terminal; tabs and line ends stay."""
    return text.replace("\r\n", "\n").translate(_PICTURES)
