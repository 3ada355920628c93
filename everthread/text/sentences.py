"""Splits texts into sentences, and cuts them to a number of tokens. Pure.

Sentences are substrings of the text, so whatever is built from them can be found in the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from everthread.text.analyzer import UNSPACED
from everthread.text.formatting import GAP_MARK
from everthread.text.tokens import estimate_tokens
from everthread.text.word_lists import load_word_lists

_END = re.compile(r"""(?P<spaced>(?<![.!?…])[.!?…]+["'”’)\]»]*)(?=\s)|[。！？]+…*["'”’」』）]*|……["'”’」』）]*""")
_BULLET = re.compile(r"^\s*(?:[-*•–]\s+)+")
_LAST_WORD = re.compile(r"(?<![^\W_])(?<![^\W_]\.)[^\W_]++(?:\.[^\W_]++)*+$")
LOOK_BACK_CHARS = 16  # before a full stop, for the word that it ends
_EN = load_word_lists(__file__)["en"]
_NEVER_LAST: frozenset[str] = frozenset(_EN["never_last"])
_OFTEN_LAST: frozenset[str] = frozenset(_EN["often_last"])
_WORD_LETTER = re.compile(rf"[^\W{UNSPACED}]")
_CUT_WORD = re.compile(rf"(?<![^\W{UNSPACED}])[^\W{UNSPACED}]++$")


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, without bullets and spaces around them; none has a line break."""
    return [sentence for row in text.splitlines() for sentence in _split_row(_BULLET.sub("", row).strip())]


def _split_row(row: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(row):
        if end["spaced"] is None or _is_sentence_end(row, start, end.start(), end["spaced"], end.end()):
            sentences.append(row[start : end.end()])
            start = end.end()
    return [sentence.strip() for sentence in (*sentences, row[start:]) if sentence.strip()]


def _is_sentence_end(row: str, start: int, place: int, mark: str, rest: int) -> bool:
    """Return whether a sentence from `start` ends with the mark at `place`; `rest` is where the row goes on."""
    follows = row[rest : rest + LOOK_BACK_CHARS].lstrip()[:1]
    if mark in ("...", "…"):
        return not follows.islower()
    if mark != ".":
        return True
    match = _LAST_WORD.search(row[max(start, place - LOOK_BACK_CHARS) : place])
    word = match[0].lower() if match else ""
    if word in _OFTEN_LAST:
        return not follows.islower()
    numbers_a_list = word.isdigit() and row[start:place].strip() == word
    initial = len(word) == 1 and word.isalpha() and word != "i"
    return not (word in _NEVER_LAST or numbers_a_list or initial)


def prefix_length(text: str, limit: int) -> int:
    """Return how many of the first characters have at most `limit` tokens."""
    enough = max(limit, 1)
    while enough < len(text) and estimate_tokens(text[:enough]) <= limit:
        enough *= 2
    low, high = 0, min(enough, len(text))
    while low < high:  # a longer prefix never has fewer tokens
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= limit else (low, middle - 1)
    return low


def shorten(text: str, limit: int) -> str:
    """Cut a text to `limit` tokens, at a word, with GAP; empty if no word fits."""
    if estimate_tokens(text) <= limit:
        return text
    cut = text[: _last_word_end(text, prefix_length(text, limit - estimate_tokens(GAP_MARK)))].rstrip(
        " \t,;:-–，；：、"
    )
    return cut + GAP_MARK if cut else ""


def _last_word_end(text: str, end: int) -> int:
    """Return the end of the last whole word up to `end`; else `end` itself, as in a script without spaces."""
    if 0 < end < len(text) and _WORD_LETTER.match(text[end - 1]) and _WORD_LETTER.match(text[end]):
        word = _CUT_WORD.search(text[:end])
        return word.start() if word and text[: word.start()].strip() else end
    return end


def truncate(text: str, limit: int) -> str:
    """Return the first rows of a text that have at most `limit` tokens.

    If the first row is too long, return its first sentences, else its beginning.
    """
    text = text.strip()
    end = prefix_length(text, limit)
    if end == len(text):
        return text
    if "\n" in text[: end + 1]:
        return text[: text.rindex("\n", 0, end + 1)].rstrip()
    *before, last = _split_row(text[:end]) or [""]
    return text[: text.rindex(last, 0, end)].rstrip() if before else shorten(text.split("\n", 1)[0], limit)


def split_by_tokens(text: str, room: int) -> Iterator[str]:
    """Split a text into pieces of at most `room` tokens, after a row, a sentence or a word where possible."""
    while text:
        end = max(prefix_length(text, room), 1)
        if end < len(text):
            places = (
                text.rfind(mark, end // 2, end) + len(mark) for mark in ("\n", ". ", "! ", "? ", "。", "！", "？")
            )
            cut = max(places)
            space = text.rfind(" ", end // 2, end) + 1
            end = cut if cut > end // 2 else space if space > end // 2 else end
        yield text[:end]
        text = text[end:]
