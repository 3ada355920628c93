"""The searchable features of a line: its flags, and the pieces that are embedded. Pure: no store, no model."""

from __future__ import annotations

import re

from everthread.text.analyzer import STOP, tokens
from everthread.text.time_words import MONTHS, WEEKDAYS
from everthread.text.word_lists import alternation, load_word_lists

PIECE = 900  # characters; the shipped model reads 256 tokens, which is about so much English
LONGEST_SMALL_TALK = 80  # characters
PIECES = 32  # of a line; of a longer text (29,000 characters) the rest is found by its words alone

# The marks of a line, as bits.
ASKS = 1  # it holds a question
ENDS_ASKING = 2  # it ends in one, so the next line answers; not so "how are you, good morning?"
TELLS_TIME = 4  # it says when: a weekday, a month, yesterday, ago
TELLS_NOTHING = 8  # it is one sentence in the word order of a question, or small talk

_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
_TIME = re.compile(
    rf"\b{alternation([*_EN['times'], *WEEKDAYS, *MONTHS])}\b|{alternation(_ZH['times'])}", re.IGNORECASE
)
SMALL_TALK: frozenset[str] = frozenset(_EN["small_talk"])
_SMALL_TALK_UNSPACED = re.compile(rf"(?:\W*{alternation(_ZH['small_talk'])})+\W*")
_VERB = alternation(_EN["verbs"])
_ONLY_ASKS = re.compile(  # one sentence with the word order of a question
    rf"\W*+(?:{alternation(_EN['openers'])}\b,? )*+(?!{alternation(_EN['statements'])}\b)"
    rf"(?:{_VERB} {alternation(_EN['subjects'])}|{alternation(_EN['question_words'])}(?:['’]s| {_VERB})"
    rf"|{alternation(_EN['determiners'])} \w+ {_VERB})\b[^.!?\n]*+[?\s]*+",
    re.IGNORECASE,
)


def split(text: str) -> list[str]:
    """Split a text into pieces of at most PIECE characters, at the ends of sentences or words where possible."""
    found: list[str] = []
    text = text.strip()
    while text and len(found) < PIECES:
        cut = _cut(text) if len(text) > PIECE else len(text)
        found.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return found


def _cut(text: str) -> int:
    """Return the place to cut a long text: after the last sentence of the piece, else its last word, else at PIECE."""
    for marks in (("\n\n", "\n", ". ", "! ", "? ", "。", "！", "？"), (" ",)):
        cut = max(text.rfind(mark, PIECE // 2, PIECE - len(mark)) + len(mark) for mark in marks)
        if cut > PIECE // 2:
            return cut
    return PIECE


def flags(text: str) -> int:
    """Return the flags of a line's text without quotes."""
    if not text.strip():
        return TELLS_NOTHING
    asks = ASKS if "?" in text or "？" in text else 0
    ends = ENDS_ASKING if text.rstrip().endswith(("?", "？")) else 0
    small = small_talk(text)
    nothing = TELLS_NOTHING if small or _ONLY_ASKS.fullmatch(text) else 0
    return asks | (0 if small else ends) | nothing | (TELLS_TIME if _TIME.search(text) else 0)


def small_talk(text: str) -> bool:
    """Return whether a text is nothing but "thanks", "good morning" and the like, in English or Chinese."""
    if len(text) > LONGEST_SMALL_TALK:
        return False
    said = tokens(text)
    if any(word in SMALL_TALK for word in said) and all(word in SMALL_TALK or word in STOP for word in said):
        return True
    return _SMALL_TALK_UNSPACED.fullmatch(text) is not None
