"""Text that can be encoded as UTF-8. Pure."""

from __future__ import annotations


def make_encodable(text: str) -> str:
    """Return the text with surrogate pairs joined, and lone surrogates and NUL replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")
