"""Splits a stream of server-sent events, which may be cut at any byte.

Source: HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINE_BYTES = 16_000_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # may precede the stream
LINE_END = re.compile(rb"\r\n|\n|\r(?=[^\n])")  # a \r at the end may be the first half of \r\n


class EventSplitter:
    """Splits a stream of server-sent events into the data of each."""

    def __init__(self) -> None:
        self._parts: list[bytes] = [b""]  # of an incomplete line
        self._data: list[bytes] = []  # the lines of an incomplete event
        self._has_begun = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Iterate over the data of the events that are complete now.

        Args:
            piece: the next bytes of the stream.

        Raises:
            ValueError: a line has more than MAX_LINE_BYTES.
        """
        may_end_line = b"\n" in piece or b"\r" in piece or self._parts[-1].endswith(b"\r")
        self._parts.append(piece)
        if not may_end_line:
            if sum(map(len, self._parts)) > MAX_LINE_BYTES:
                raise ValueError(f"a line has more than {MAX_LINE_BYTES:,} bytes")
            return
        *lines, rest = LINE_END.split(b"".join(self._parts))
        self._parts = [rest]
        for line in lines:
            yield from self._read_line(line)

    def end(self) -> Iterator[bytes]:
        """Iterate over the data of the last event, which may lack its blank line."""
        yield from self._read_line(b"".join(self._parts).rstrip(b"\r"))
        yield from self._read_line(b"")

    def _read_line(self, line: bytes) -> Iterator[bytes]:
        line = line if self._has_begun else line.removeprefix(BYTE_ORDER_MARK)
        self._has_begun = True
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif not line and self._data:
            yield b"\n".join(self._data)
            self._data = []
