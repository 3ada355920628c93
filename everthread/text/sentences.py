"""Splits texts into sentences, and cuts them to a number of tokens. Pure.

Sentences are substrings of the text, so whatever is built from them can be found in the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from everthread.text.analyzer import UNSPACED
from everthread.text.formatting import GAP_MARK
from everthread.text.tokens import estimate_tokens
from everthread.text.word_lists import alternation, load_word_lists

_END = re.compile(r"""(?P<spaced>(?<![.!?…])[.!?…]+["'”’)\]»]*)(?=\s)|[。！？]+…*["'”’」』）]*|……["'”’」』）]*""")
_BULLET = re.compile(r"^\s*(?:[-*•–]\s+)+")
_LAST_WORD = re.compile(r"(?<![^\W_])(?<![^\W_]\.)[^\W_]++(?:\.[^\W_]++)*+$")
LOOK_BACK_CHARS = 16  # before a full stop, for the word that it ends
_LISTS = load_word_lists(__file__)
_NEVER_LAST: frozenset[str] = frozenset(word for lists in _LISTS.values() for word in lists["never_last"])
_OFTEN_LAST: frozenset[str] = frozenset(word for lists in _LISTS.values() for word in lists["often_last"])
_NUMBERED = re.compile(rf"\s+(?:{alternation(_LISTS['de']['numbered'])})\b", re.IGNORECASE)
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


def _is_sentence_end(row: str, start: int, mark_start: int, mark: str, mark_end: int) -> bool:
    """Return whether the sentence that begins at `start` ends with the mark from `mark_start` to `mark_end`."""
    next_character = row[mark_end : mark_end + LOOK_BACK_CHARS].lstrip()[:1]
    if mark in ("...", "…"):
        return not next_character.islower()
    if mark != ".":
        return True
    match = _LAST_WORD.search(row[max(start, mark_start - LOOK_BACK_CHARS) : mark_start])
    word = match[0].lower() if match else ""
    if word in _OFTEN_LAST:
        return not next_character.islower()
    numbers_a_list = word.isdigit() and row[start:mark_start].strip() == word
    is_ordinal = word.isdigit() and len(word) <= 2 and _NUMBERED.match(row, mark_end) is not None  # "am 3. Mai"
    initial = len(word) == 1 and word.isalpha() and word != "i"
    return not (word in _NEVER_LAST or numbers_a_list or is_ordinal or initial)


def prefix_length(text: str, limit: int) -> int:
    """Return the length of the longest prefix that has at most `limit` tokens."""
    upper_bound = max(limit, 1)
    while upper_bound < len(text) and estimate_tokens(text[:upper_bound]) <= limit:
        upper_bound *= 2
    low, high = 0, min(upper_bound, len(text))
    while low < high:  # a longer prefix never has fewer tokens
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= limit else (low, middle - 1)
    return low


def shorten(text: str, limit: int) -> str:
    """Cut a text to `limit` tokens after a word, and append GAP_MARK; empty if no word fits."""
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


def split_by_tokens(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most `limit` tokens, after a row, a sentence or a word where possible."""
    while text:
        end = max(prefix_length(text, limit), 1)
        if end < len(text):
            clause_ends = (
                text.rfind(mark, end // 2, end) + len(mark) for mark in ("\n", ". ", "! ", "? ", "。", "！", "？")
            )
            cut = max(clause_ends)
            space = text.rfind(" ", end // 2, end) + 1
            end = cut if cut > end // 2 else space if space > end // 2 else end
        yield text[:end]
        text = text[end:]
