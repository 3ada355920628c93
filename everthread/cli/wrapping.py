"""Wraps text at words as it arrives, for a terminal of a fixed width."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from unicodedata import combining, east_asian_width

Emit = Callable[[str, str], None]  # writes a text in a style

_TOKENS = re.compile(r"\n| +|[^ \n]+")

MAX_COLUMNS = 100  # of text in a wide terminal
CLOSING_MARKS = "。，、；：？！”’」』）】》〉…"
OPENING_MARKS = "“‘「『（【《〈"


def _is_wide(char: str) -> bool:
    return bool(char) and east_asian_width(char) in "WF"


def cell_width(text: str) -> int:
    """Return the columns that a text takes: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


class WordWrapper:
    """Writes words as soon as they are complete, each row at most `width` columns.

    `indent` is how far the rows that continue a row are indented.
    """

    def __init__(self, emit: Emit, width: int) -> None:
        self.emit, self.width, self.indent = emit, width, 0
        self.column = 0
        self._space = ""  # before the word
        self._word: list[tuple[str, str]] = []  # the parts of the word that isn't complete yet, with their styles

    def feed(self, text: str, style: str = "") -> None:
        """Write a text; its last word is written once what follows it is known."""
        for token in _TOKENS.findall(text):
            if token == "\n":
                self.end_row()
            elif token.isspace():
                self.flush()
                self._space += token
            elif token.isascii() and (not self._word or self._word[-1][0].isascii()):
                self._word.append((token, style))
            else:
                self._feed_wide(token, style)

    def _feed_wide(self, token: str, style: str) -> None:
        """Feed a word that may have wide characters, before and after each of which a row may end, except before a
        mark that closes something."""
        for char in token:
            last = self._word[-1][0][-1] if self._word else ""
            if char not in CLOSING_MARKS and last not in OPENING_MARKS and (_is_wide(char) or _is_wide(last)):
                self.flush()
            self._word.append((char, style))

    def flush(self) -> None:
        """Write the word so far, in the next row if this one has no room for it."""
        if not self._word:
            return
        width = sum(cell_width(text) for text, _ in self._word)
        if self.column + len(self._space) + width > self.width and self.column > self.indent:
            self.emit("\n" + " " * self.indent, "")
            self.column, self._space = self.indent, ""
        for text, style in [(self._space, ""), *_join(self._word)]:
            if text:
                self.emit(text, style)
        self.column += len(self._space) + width
        self._space, self._word = "", []

    def start_row(self) -> None:
        """End the row, unless nothing was written in it."""
        self.flush()
        if self.column:
            self.end_row()

    def end_row(self) -> None:
        """Write the word so far and end the row."""
        self.flush()
        self.emit("\n", "")
        self.column, self._space, self.indent = 0, "", 0


def _join(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join neighbouring parts of the same style."""
    joined: list[tuple[str, str]] = []
    for text, style in parts:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return joined


def wrap(text: str, width: int, indent: int = 0) -> str:
    """Break a row at the words that would pass `width` columns; further rows are indented."""
    pieces: list[str] = []
    wrapper = WordWrapper(lambda piece, _: pieces.append(piece), width)
    wrapper.indent = indent
    wrapper.feed(text)
    wrapper.flush()
    return "".join(pieces)


def wrap_to_terminal(text: str, indent: int = 0) -> str:
    """Break a row at the words that would pass the terminal's edge, if it is shown in one."""
    if not sys.stdout.isatty():
        return text
    return wrap(text, min(shutil.get_terminal_size().columns, MAX_COLUMNS), indent)
