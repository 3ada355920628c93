"""Reads a JSON text of any size element by element. Only the element that is being read is in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, NoReturn

MAX_ELEMENT_CHARS = 2**27  # of an element: a larger one is no conversation
HEAD_ELEMENTS = 3  # of a list, in its head: the first conversation may be broken
MAX_HEAD_DEPTH = 3  # of the objects whose lists are cut in a head
MAX_HEAD_CHARS = 2**22  # that are read for a head
_CHUNK_BYTES = 2**18
_END_CHARS = 16  # before the end of what was read: an error there may be one of a value that goes on
_BLANK = re.compile(r"[ \t\n\r]*")


class JSONStream:
    """A position in a JSON text. Its methods move over what they read."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin at the beginning of a file."""
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._scan = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
        self._text, self._at, self._passed, self._ended = "", 0, 0, False

    @property
    def chars_read(self) -> int:
        """The number of characters before the position."""
        return self._passed + self._at

    def peek(self) -> str:
        """Return the next character that is not blank; "" at the end."""
        while True:
            self._at = match.end() if (match := _BLANK.match(self._text, self._at)) else self._at
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def value(self) -> object:
        """Return the next value.

        Raises:
            ValueError: the text is not JSON.
            RecursionError: it is nested too deeply.
        """
        self.peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
                if end < len(self._text) or not self._read_on():  # a number may go on
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _END_CHARS
                place = self._passed + error.pos
                if not is_cut or not self._read_on():
                    raise ValueError(f"{error.msg.removesuffix(' starting at')} at character {place:,}") from None

    def elements(self) -> Iterator[object]:
        """Yield the elements of the next value, which is a list.

        Raises:
            ValueError: it is not a list, or not JSON.
        """
        for _ in self.places():
            yield self.value()

    def places(self) -> Iterator[None]:
        """Yield at the place of each element of the next value, which is a list. The caller reads the element.

        Raises:
            ValueError: it is not a list, or not JSON.
        """
        self._expect("[")
        if self._take("]"):
            return
        while True:
            yield
            if self._take("]"):
                return
            self._expect(",")

    def members(self) -> Iterator[str]:
        """Yield the name of each member of the next value, which is an object. The caller reads the member's value.

        Raises:
            ValueError: it is not an object, or not JSON.
        """
        self._expect("{")
        if self._take("}"):
            return
        while True:
            name = self.value()
            self._expect(":")
            yield str(name)
            if self._take("}"):
                return
            self._expect(",")

    def skip(self) -> None:
        """Move over the next value. A list is read element by element."""
        if self.peek() == "[":
            for _ in self.elements():
                pass
        else:
            self.value()

    def _take(self, mark: str) -> bool:
        """Move over a character, if it comes next."""
        is_next = self.peek() == mark
        self._at += is_next
        return is_next

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise ValueError(f"expected {mark!r} at character {self.chars_read:,}, got {self.peek() or 'the end'!r}")

    def _read_on(self) -> bool:
        """Read at least as much again as what is in memory; return whether there was anything."""
        if self._ended:
            return False
        rest = self._text[self._at :]
        if len(rest) > MAX_ELEMENT_CHARS:
            raise ValueError(f"a value of more than {MAX_ELEMENT_CHARS:,} characters at character {self.chars_read:,}")
        raw = self._file.read(max(_CHUNK_BYTES, len(rest)))
        self._ended = not raw
        self._passed += self._at
        self._text, self._at = rest + self._decode(raw, final=self._ended), 0
        return not self._ended


def read_elements(file: IO[bytes], path: str) -> Iterator[object]:
    """Yield the elements of a list.

    Args:
        file: the JSON.
        path: the names of the members in which the list is, with dots between them; "" for the whole JSON.

    Raises:
        ValueError: the text is not JSON, or has no such list.
        RecursionError: it is nested too deeply.
    """
    stream = JSONStream(file)
    for name in path.split(".") if path else ():
        for member in stream.members():
            if member == name:
                break
            stream.skip()
        else:
            raise ValueError(f"there is no {path!r}")
    yield from stream.elements()


def read_members(file: IO[bytes], lists: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield the path and the value of each member of an object, and of the objects in it that have some lists.

    Args:
        file: the JSON.
        lists: the paths of lists, names with dots between them; their elements are yielded one after the other.

    Raises:
        ValueError: the text is not JSON, or not an object.
        RecursionError: it is nested too deeply.
    """
    return _walk(JSONStream(file), "", lists)


def _walk(stream: JSONStream, prefix: str, lists: Collection[str]) -> Iterator[tuple[str, object]]:
    for name in stream.members():
        path, begin = f"{prefix}{name}", stream.peek()
        if begin == "[" and path in lists:
            for element in stream.elements():
                yield path, element
        elif begin == "{" and any(each.startswith(f"{path}.") for each in lists):
            yield from _walk(stream, f"{path}.", lists)
        else:
            yield path, stream.value()


def read_nested(
    file: IO[bytes], lists: Collection[str], inner: str
) -> Iterator[tuple[dict[str, object], Iterator[object]]]:
    """Yield each object of some lists, as its members before a list in it, and the elements of that list.

    Args:
        file: the JSON.
        lists: the paths of lists of objects, names with dots between them.
        inner: the name of the list in each object, whose elements the caller reads before the next object.

    Raises:
        ValueError: the text is not JSON, or not an object.
        RecursionError: it is nested too deeply.
    """
    return _walk_nested(JSONStream(file), "", lists, inner)


def _walk_nested(
    stream: JSONStream, prefix: str, lists: Collection[str], inner: str
) -> Iterator[tuple[dict[str, object], Iterator[object]]]:
    for name in stream.members():
        path, begin = f"{prefix}{name}", stream.peek()
        if begin == "[" and path in lists:
            for _ in stream.places():
                yield from _open_object(stream, inner)
        elif begin == "{" and any(each.startswith(f"{path}.") for each in lists):
            yield from _walk_nested(stream, f"{path}.", lists, inner)
        else:
            stream.skip()


def _open_object(stream: JSONStream, inner: str) -> Iterator[tuple[dict[str, object], Iterator[object]]]:
    if stream.peek() != "{":
        stream.skip()
        return
    members: dict[str, object] = {}
    is_open = False
    for name in stream.members():
        if name != inner or stream.peek() != "[":
            members[name] = stream.value()
            continue
        is_open, elements = True, stream.elements()
        yield members, elements
        for _ in elements:  # that the caller left
            pass
    if not is_open:
        yield members, iter(())


def read_head(file: IO[bytes]) -> object:
    """Return the beginning of JSON, as far as it is JSON; see `ExportFile.head`."""
    stream = JSONStream(file)
    with suppress(ValueError, RecursionError):
        if stream.peek() == "[":
            elements: list[object] = []
            with suppress(ValueError, RecursionError):
                elements += islice(stream.elements(), HEAD_ELEMENTS)
            return elements or None
        if stream.peek() == "{":
            members: dict[str, object] = {}
            with suppress(ValueError, RecursionError):
                _read_members(stream, members, 1)
            return members
    return None


def _read_members(stream: JSONStream, members: dict[str, object], depth: int) -> None:
    """Fill `members` with those of the next value, in which lists are cut after their first element."""
    for name in stream.members():
        if stream.chars_read > MAX_HEAD_CHARS:
            raise ValueError("the head ends here")
        begin = stream.peek()
        if begin == "[":
            members[name] = elements = list[object]()
            _read_first(stream, elements, depth)
        elif begin == "{" and depth < MAX_HEAD_DEPTH:
            members[name] = inner = dict[str, object]()
            _read_members(stream, inner, depth + 1)
        else:
            members[name] = stream.value()


def _read_first(stream: JSONStream, elements: list[object], depth: int) -> None:
    """Fill `elements` with the first one of the next value, and move over the others."""
    for _ in stream.places():
        if stream.chars_read > MAX_HEAD_CHARS:
            raise ValueError("the head ends here")
        if stream.peek() == "{" and depth < MAX_HEAD_DEPTH:
            inner = dict[str, object]()
            elements += [] if elements else [inner]
            _read_members(stream, inner, depth + 1)
        elif elements:
            stream.skip()
        else:
            elements.append(stream.value())


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
