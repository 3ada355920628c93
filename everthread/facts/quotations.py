"""Masks what a line quotes, so that it is not read as said by the speaker. Pure."""

from __future__ import annotations

import re

_SENTENCE_ENDS = ".!?。！？"
_MASK = "\x00"  # in the place of a quoted character: no value has it
_QUOTE = re.compile(
    r"(?<!\w)\"(?=\w)[^\"]{1,2000}\"(?!\w)|(?<!\w)“[^”]{1,2000}”"
    r"|\"[^\"\n]{1,500}(?:\"|$)|“[^”\n]{1,500}(?:”|$)|„[^“”\n]{1,500}(?:[“”]|$)|«[^»\n]{1,500}(?:»|$)"
    r"|「[^」\n]{1,500}(?:」|$)|『[^』\n]{1,500}(?:』|$)|(?<!\w)['‘](?=\w)[^'’\n]{1,500}(?:['’]\w[^'’\n]{1,500}){0,9}['’](?!\w)"
    r"|^[ \t]*(?:>|(?:#+|//|--)[ \t])[^\n]*|[ \t](?:#|//) [^\n]*|/\*.*?(?:\*/|$)|```.*?(?:```|\Z)|`[^`\n]+`",
    re.MULTILINE | re.DOTALL,
)


def mask_quotations(text: str) -> str:
    """Return a text of the same length in which quotations are masked, except the end of a sentence in them."""
    return _QUOTE.sub(_mask, text)


def _mask(quote: re.Match[str]) -> str:
    last = quote[0][-2:-1]
    return _MASK * (len(quote[0]) - 1) + ("." if last in _SENTENCE_ENDS else _MASK)
