"""What of a line is searched: its marks, and the pieces of it that are embedded. Pure: no store, no model."""

from __future__ import annotations

import re

PIECE = 900  # characters; the shipped model reads 256 tokens, which is about so much English
PIECES = 32  # of a line; of a longer text (29,000 characters) the rest is found by its words alone

# The marks of a line, as bits.
ASKS = 1  # it holds a question
ENDS_ASKING = 2  # it ends in one, so the next line answers
TELLS_TIME = 4  # it says when: a weekday, a month, yesterday, ago
ONLY_ASKS = 8  # it is one question and nothing else, also without a question mark

_TIMES = """
    yesterday tomorrow today tonight ago last next week weekend month year since monday tuesday wednesday
    thursday friday saturday sunday january february march april may june july august september october november
    december recently just
    """
_TIME = re.compile(rf"\b(?:{'|'.join(_TIMES.split())})\b|昨天|今天|明天|前天|上周|去年|今年|星期|[月日]", re.IGNORECASE)

# One sentence that begins as a question does. A scene set before it ("I've a dog now. Where ...") tells something.
_ASKING = """
    what what's when where where's which who who's whom whose why how do does did is are am was were has have had will
    would can could should shall
    """
_ONLY_ASKS = re.compile(
    rf"\W*+(?:(?:and|so|but|hey|okay|ok|well|also|please|tell me|remind me)\b,? )*+(?:{'|'.join(_ASKING.split())})\b"
    r"[^.!?\n]*+[?\s]*+",
    re.IGNORECASE,
)


def pieces(text: str) -> list[str]:
    """The text in pieces of at most PIECE characters, cut at the end of a sentence or a word where there is one."""
    found: list[str] = []
    text = text.strip()
    while text and len(found) < PIECES:
        cut = _cut(text) if len(text) > PIECE else len(text)
        found.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return found


def _cut(text: str) -> int:
    """Where to cut a text that is too long: after the last sentence of the piece, else its last word, else hard."""
    for marks in (("\n\n", "\n", ". ", "! ", "? ", "。", "！", "？"), (" ",)):
        cut = max(text.rfind(mark, PIECE // 2, PIECE - len(mark)) + len(mark) for mark in marks)
        if cut > PIECE // 2:
            return cut
    return PIECE


def marks(text: str) -> int:
    """The line's marks."""
    asks = ASKS if "?" in text or "？" in text else 0
    ends = ENDS_ASKING if text.rstrip().endswith(("?", "？")) else 0
    only = ONLY_ASKS if _ONLY_ASKS.fullmatch(text) else 0
    return asks | ends | only | (TELLS_TIME if _TIME.search(text) else 0)
