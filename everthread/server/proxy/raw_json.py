"""Reads JSON with the positions of its values, and changes parts of the text without rewriting the rest.

A prompt cache of a model's server holds only while the beginning of a request consists of the same bytes, so the
client's own spelling of numbers, escapes and white space has to survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MAX_FAST_MARKS = 200_000  # brackets and commas up to which C code parses, during which no other thread runs
HALF_SURROGATE_PAIR = re.compile("[\ud800-\udfff]")
WHITESPACE = re.compile(r"[ \t\n\r]*")
SEPARATOR = re.compile(r"[ \t\n\r]*(,[ \t\n\r]*|[\]}])")
WHITESPACE_START = frozenset(" \t\n\r")


class Edit(NamedTuple):
    """A replacement for part of a text."""

    start: int
    end: int
    text: str = ""


class Span(NamedTuple):
    """A value in a text.

    Attributes:
        start: where it begins; for a member of an object, where its name begins.
        end: where it ends.
        value: the parsed value.
        value_start: where it begins, without a name.
    """

    start: int
    end: int
    value: Any
    value_start: int


class Scanner:
    """A position in a JSON text, which moves on as values are read.

    Methods raise ValueError for invalid JSON, and RecursionError if it is nested too deeply.
    """

    def __init__(self, text: str) -> None:
        """Begin at the start of a text.

        Args:
            text: the JSON.
        """
        self.text, self.at = text, 0
        decoder: Any = json.JSONDecoder()
        is_fast = sum(map(text.count, "[{,")) <= MAX_FAST_MARKS
        self._scan = decoder.scan_once if is_fast else py_make_scanner(decoder)

    def move_to(self, at: int) -> Scanner:
        """Go to a position at which a value begins, and return the same scanner."""
        self.at = at
        return self

    def read_value(self, start: int | None = None) -> Span:
        """Read the next value.

        Args:
            start: where the member of an object begins whose value it is.
        """
        value_start = self._skip_whitespace()
        try:
            value, self.at = self._scan(self.text, value_start)
        except StopIteration:
            raise ValueError(f"no value at character {value_start}") from None
        return Span(value_start if start is None else start, self.at, value, value_start)

    def read_names(self) -> Iterator[tuple[str, int]]:
        """Iterate over the names of the next object's members, and their positions. The caller reads each value."""
        if not self._enter("{", "}"):
            return
        is_last = False
        while not is_last:
            start = self.at
            self._require('"')
            name, self.at = scanstring(self.text, self.at, True)
            self._skip_whitespace()
            self._require(":")
            yield name, start
            is_last = self._skip_separator("}")

    def read_members(self) -> dict[str, Span]:
        """Read the members of the next object; of several with one name, the last."""
        return dict(self.read_pairs())

    def read_pairs(self) -> list[tuple[str, Span]]:
        """Read the names and members of the next object, also several with one name."""
        return [(name, self.read_value(start)) for name, start in self.read_names()]

    def read_items(self) -> list[Span]:
        """Read the items of the next array."""
        items = []
        is_last = not self._enter("[", "]")
        while not is_last:
            items.append(self.read_value())
            is_last = self._skip_separator("]")
        return items

    def require_end(self) -> None:
        """Check that nothing else follows."""
        if self._skip_whitespace() != len(self.text):
            raise ValueError(f"more than one value: character {self.at}")

    def next_is(self, mark: str) -> bool:
        """Return whether the next value begins with this character."""
        return self.text.startswith(mark, self._skip_whitespace())

    def _enter(self, opening: str, closing: str) -> bool:
        """Go to the first element of an object or array and return True, or to its end and return False."""
        self._skip_whitespace()
        self._require(opening)
        if self.next_is(closing):
            self.at += 1
            return False
        return True

    def _skip_separator(self, closing: str) -> bool:
        """Go to the next element, or to the end. Return whether it is the end."""
        separator = SEPARATOR.match(self.text, self.at)
        mark = separator[1] if separator is not None else ""
        if separator is None or mark[0] not in (",", closing):
            raise ValueError(f"no , or {closing} at character {self.at}")
        self.at = separator.end()
        return mark == closing

    def _skip_whitespace(self) -> int:
        if self.text[self.at : self.at + 1] in WHITESPACE_START and (match := WHITESPACE.match(self.text, self.at)):
            self.at = match.end()
        return self.at

    def _require(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise ValueError(f"no {mark} at character {self.at}")
        self.at += 1


def locate_object(text: str, end: int) -> int:
    """Return where an object or array begins, by reading it backwards.

    Args:
        text: valid JSON.
        end: where the object or array ends.
    """
    at, depth = end, 0
    while True:
        at -= 1
        if text[at] == '"':
            at = _locate_string(text, at)
        elif text[at] in "}]":
            depth += 1
        elif text[at] in "{[":
            depth -= 1
            if depth == 0:
                return at


def _locate_string(text: str, closing: int) -> int:
    """Return where a string begins: at the last quotation mark before its closing one that is not escaped."""
    at = closing
    while True:
        at = before = text.rfind('"', 0, at)
        while text[before - 1] == "\\":
            before -= 1
        if (at - before) % 2 == 0:
            return at


def remove(spans: Sequence[Span], removed: Collection[int]) -> list[Edit]:
    """Return the edits that remove members of an object or items of an array, with their commas.

    Args:
        spans: all members or items, in their order.
        removed: indices of those to remove.
    """
    kept = [index for index in range(len(spans)) if index not in removed]
    last_kept = kept[-1] if kept else -1
    edits = [Edit(spans[index].start, spans[index + 1].start) for index in sorted(removed) if index < last_kept]
    if spans and last_kept < len(spans) - 1:
        edits.append(Edit(spans[last_kept].end if kept else spans[0].start, spans[-1].end))
    return edits


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits.

    At each position insertions come first, in their order. Edits may overlap.
    """
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start)):
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def to_json(value: object) -> str:
    """Write a value as JSON. Characters are escaped only if half a surrogate pair is among them."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if HALF_SURROGATE_PAIR.search(text) else text
