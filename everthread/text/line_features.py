"""The searchable features of a line: its flags, and the pieces that are embedded. Pure: no store, no model."""

from __future__ import annotations

import re

from everthread.text.analyzer import STOP_WORDS, split_words
from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.small_talk import is_small_talk_elsewhere
from everthread.text.time_words import MONTHS, WEEKDAYS
from everthread.text.word_lists import alternation, load_word_lists

MAX_PIECE_CHARS = 900  # the shipped model reads 256 tokens, which are about as much English
MAX_SMALL_TALK_CHARS = 80
MAX_PIECES = 32  # of a line; the rest of a longer text (29,000 characters) is only searchable by keyword

# The flags of a line, as bits.
HAS_QUESTION = 1  # the line contains a question
ENDS_WITH_QUESTION = 2  # the line ends with a question that is not small talk, so the next line answers it
HAS_TIME = 4  # the line contains a weekday, a month, "yesterday", "ago" …
UNINFORMATIVE = 8  # the line is only a question, or small talk
UNDATED = 16  # the line was said at an unknown time; from its metadata, not from its text

_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
_TIME = re.compile(
    rf"\b{alternation([*_EN['times'], *WEEKDAYS, *MONTHS])}\b|{alternation(_ZH['times'])}", re.IGNORECASE
)
SMALL_TALK: frozenset[str] = frozenset(_EN["small_talk"])
_SMALL_TALK_UNSPACED = re.compile(rf"(?:\W*{alternation(_ZH['small_talk'])})+\W*")
_VERB = alternation(_EN["verbs"])
_QUESTION_ORDER = re.compile(  # one sentence with the word order of a question
    rf"\W*+(?:{alternation(_EN['openers'])}\b,? )*+(?!{alternation(_EN['statements'])}\b)"
    rf"(?:{_VERB} {alternation(_EN['subjects'])}|{alternation(_EN['question_words'])}(?:['’]s| {_VERB})"
    rf"|{alternation(_EN['determiners'])} \w+ {_VERB})\b[^.!?\n]*+[?\s]*+",
    re.IGNORECASE,
)


def split_for_embedding(text: str) -> list[str]:
    """Split a text into at most MAX_PIECES pieces, at the ends of sentences or words where possible."""
    pieces: list[str] = []
    text = text.strip()
    while text and len(pieces) < MAX_PIECES:
        length = _piece_length(text) if len(text) > MAX_PIECE_CHARS else len(text)
        pieces.append(text[:length].rstrip())
        text = text[length:].lstrip()
    return pieces


def _piece_length(text: str) -> int:
    """Return the length of a text's first piece: up to the end of a sentence, else of a word, else MAX_PIECE_CHARS."""
    for marks in (("\n\n", "\n", ". ", "! ", "? ", "。", "！", "？"), (" ",)):
        length = max(text.rfind(mark, MAX_PIECE_CHARS // 2, MAX_PIECE_CHARS - len(mark)) + len(mark) for mark in marks)
        if length > MAX_PIECE_CHARS // 2:
            return length
    return MAX_PIECE_CHARS


def line_flags(text: str) -> int:
    """Return the flags of a line's text without quotes."""
    if not text.strip():
        return UNINFORMATIVE
    question = HAS_QUESTION if "?" in text or "？" in text else 0
    ending = ENDS_WITH_QUESTION if text.rstrip().endswith(("?", "？")) else 0
    small_talk = is_small_talk(text)
    uninformative = UNINFORMATIVE if small_talk or is_in_question_order(text) else 0
    return question | (0 if small_talk else ending) | uninformative | (HAS_TIME if _TIME.search(text) else 0)


def is_in_question_order(text: str) -> bool:
    """Return whether a text is one English sentence with the word order of a question."""
    return _QUESTION_ORDER.fullmatch(expand_chat_spelling(text)) is not None


def is_small_talk(text: str) -> bool:
    """Return whether a text is nothing but "thanks", "good morning" and the like, in any language of the lexicons."""
    if len(text) > MAX_SMALL_TALK_CHARS:
        return False
    words = split_words(text)
    if any(word in SMALL_TALK for word in words) and all(word in SMALL_TALK or word in STOP_WORDS for word in words):
        return True
    return is_small_talk_elsewhere(text, words) or _SMALL_TALK_UNSPACED.fullmatch(text) is not None
