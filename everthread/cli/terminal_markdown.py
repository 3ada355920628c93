"""Shows Markdown in a terminal while it arrives: each piece is written once, and nothing is drawn again."""

from __future__ import annotations

import re
from itertools import zip_longest

from everthread.cli.wrapping import WordWrapper, cell_width

MAX_SPAN_CHARS = 300  # of bold, italic or code; a longer one is shown as it was written
CODE_INDENT = "    "

_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\*\*(?=\S)(?P<bold>[^*\n]+?)(?<=\S)\*\*"
    r"|\*(?=[^\s*])(?P<italic>[^*\n]+?)(?<=\S)\*(?!\w)"
)
_MARKERS = re.compile(r"`+|\*+")
_PREFIX = re.compile(r"(?P<heading> {0,3}#{1,6} +)|(?P<item> *(?:[-*+]|\d{1,3}[.)]) +)|(?P<quote> {0,3}(?:> ?)+)")
_MAYBE_PREFIX = re.compile(r" *(?:#{1,6} *|(?:[-*_] ?){1,80}|(?:\+|\d{1,3}[.)]?) *|(?:> ?)+|`{1,3}|\|)?")
_FENCE = re.compile(r" {0,3}```")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *")
_DELIMITER = re.compile(r"\|?[-:| ]+\|?")


class MarkdownWriter:
    """Writes the Markdown of one reply. Call `close` at its end."""

    def __init__(self, out: WordWrapper) -> None:
        self.out = out
        self._rest = ""  # received and not yet written
        self._at_start = True  # of a row
        self._style = ""  # of the row
        self._in_code = False
        self._last = ""  # character written in this row
        self._table: list[str] = []  # rows of a table that may go on

    def feed(self, piece: str) -> None:
        """Write as much of the text as is certain how to show."""
        self._rest += piece
        while self._rest and self._write_next(final=False):
            pass

    def close(self) -> None:
        """Write the rest."""
        while self._rest and self._write_next(final=True):
            pass
        self._end_table()
        self.out.flush()

    def _write_next(self, *, final: bool) -> bool:
        """Write the start of the rest. Returns whether anything was done; False waits for more text."""
        if self._at_start:
            return self._begin_row(final)
        row, newline, after = self._rest.partition("\n")
        done = self._write_code(row) if self._in_code else self._write_inline(row, bool(newline) or final)
        self._rest = row[done:] + newline + after
        if done < len(row) or not newline:
            return False
        self.out.end_row()
        self._rest, self._at_start, self._style, self._last = after, True, "", ""
        return True

    def _begin_row(self, final: bool) -> bool:
        row, newline, after = self._rest.partition("\n")
        whole = bool(newline) or final
        if not whole and _MAYBE_PREFIX.fullmatch(row):
            return False
        if _FENCE.match(row) or (not self._in_code and (row.lstrip().startswith("|") or _RULE.fullmatch(row))):
            if whole:
                self._write_special(row)
                self._rest = after
            return whole
        self._end_table()
        self._at_start = False
        if not self._in_code and (prefix := _PREFIX.match(row)):
            self._write_prefix(prefix)
            self._rest = self._rest[prefix.end() :]
        elif self._in_code:
            self.out.emit(CODE_INDENT, "")
        return True

    def _write_special(self, row: str) -> None:
        """Write a whole row that isn't text: the edge of a code block, a row of a table, or a rule."""
        if row.lstrip().startswith("|"):
            self._table.append(row)
            return
        self._end_table()
        self.out.start_row()
        if _FENCE.match(row):
            self._in_code = not self._in_code
            if language := row.strip(" `"):
                self.out.emit(f"{CODE_INDENT}{language}\n", "dim")
        else:
            self.out.emit("─" * min(40, self.out.width) + "\n", "dim")

    def _write_prefix(self, prefix: re.Match[str]) -> None:
        text = prefix[0]
        if prefix["heading"]:
            self._style = "heading"
            return
        if prefix["quote"]:
            self._style, text = "quote", "│ " * text.count(">")
        self.out.feed(text.replace("*", "•").replace("-", "•").replace("+", "•"), "marker")
        self.out.flush()
        self.out.indent = cell_width(text)

    def _write_code(self, row: str) -> int:
        self.out.emit(row, "code")
        return len(row)

    def _write_inline(self, row: str, whole: bool) -> int:
        """Write a part of a row, and return its length: up to a marker whose partner may still arrive."""
        at = 0
        while marker := _MARKERS.search(row, at):
            self._write_text(row[at : marker.start()])
            at, end = marker.span()
            if end == len(row) and not whole:
                return at
            span = None if self._is_literal(row, marker) else _INLINE.match(row, at)
            if span and (whole or span.end() < len(row)):
                self.out.feed(span[span.lastgroup or 0], span.lastgroup or "")
                self._last, at = marker[0], span.end()
            elif whole or len(row) - at > MAX_SPAN_CHARS or self._is_literal(row, marker):
                self._write_text(marker[0])
                at = end
            else:
                return at
        self._write_text(row[at:])
        return len(row)

    def _write_text(self, text: str) -> None:
        if text:
            self.out.feed(text, self._style)
            self._last = text[-1]

    def _is_literal(self, row: str, marker: re.Match[str]) -> bool:
        """Return whether a marker begins nothing: white space follows, or it is an asterisk within a word."""
        follows = row[marker.end() : marker.end() + 1]
        return not follows or follows.isspace() or (marker[0] == "*" and self._last.isalnum())

    def _end_table(self) -> None:
        """Write the rows of a table that has ended: in columns, if there is room for them."""
        if not self._table:
            return
        self.out.start_row()
        rows = [[_plain(cell) for cell in row.strip().strip("|").split("|")] for row in self._table]
        is_table = len(rows) > 1 and _DELIMITER.fullmatch(self._table[1].strip())
        rows = [row for at, row in enumerate(rows) if at != 1]
        widths = [max(map(cell_width, column)) for column in zip_longest(*rows, fillvalue="")]
        if is_table and sum(widths) + 2 * len(widths) <= self.out.width:
            for number, row in enumerate(rows):
                cells = (cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=False))
                self.out.emit("  ".join(cells).rstrip() + "\n", "" if number else "heading")
        else:
            self.out.emit("\n".join(self._table) + "\n", "")
        self._table = []


def _plain(cell: str) -> str:
    """Return a cell's text without the markers of bold, italic and code."""
    return _INLINE.sub(lambda span: span[span.lastgroup or 0], cell.strip())
