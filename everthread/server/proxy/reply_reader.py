"""Reads the reply in an answer of the upstream while its bytes are passed on: whole, streamed, or compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Protocol

from everthread.server.proxy.event_stream import EventSplitter
from everthread.server.proxy.reply import Reply

EVENT_STREAM = "text/event-stream"
LINE_STREAM = "application/x-ndjson"  # Ollama's: one JSON object a line
MAX_LINE_BYTES = 16_000_000
MAX_FIRST_LINE_BYTES = 65_536  # of a stream whose type does not say that it is one
MAX_BODY_BYTES = 64_000_000  # of an answer that is not a stream; a longer one is not read
MAX_CHUNK_BYTES = 16_000_000  # of what a compressed piece expands to
DONE = b"[DONE]"
EVENT_BEGINNINGS = b":deir"  # of comments, data, event, id and retry; no JSON begins with one of these letters
BLANKS = b"\xef\xbb\xbf \t\r\n"  # which may precede an answer; a byte-order mark among them
COMPRESSIONS = ("gzip", "deflate")
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


class ReplyReader(Protocol):
    """Reads a reply from the bytes of an answer."""

    reply: Reply

    @property
    def is_stream(self) -> bool:
        """True for an answer that is known to be a stream."""

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""

    def end(self) -> None:
        """Read the end of the answer. Raises ValueError if it can't be read."""


class StreamReader:
    """Reads the reply in a stream."""

    is_stream = True

    def __init__(self, reply: Reply) -> None:
        """Begin a stream.

        Args:
            reply: what is read is added to it.
        """
        self.reply = reply
        self._splitter = EventSplitter()

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""
        for data in self._splitter.feed(piece):
            self._read(data)

    def end(self) -> None:
        """Read the end of the stream. Raises ValueError if it can't be read."""
        for data in self._splitter.end():
            self._read(data)

    def _read(self, data: bytes) -> None:
        if data.strip() == DONE:
            self.reply.end()
        else:
            self.reply.add(_parse(data))


class LineReader:
    """Reads the reply in a stream of JSON objects, one a line."""

    is_stream = True

    def __init__(self, reply: Reply) -> None:
        """Begin a stream.

        Args:
            reply: what is read is added to it.
        """
        self.reply = reply
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in filter(bytes.strip, lines):
            self.reply.add(_parse(line))
        if len(self._rest) > MAX_LINE_BYTES:
            raise ValueError(f"a line has more than {MAX_LINE_BYTES:,} bytes")

    def end(self) -> None:
        """Read the end of the stream. Raises ValueError if it can't be read."""
        self.feed(b"\n")


class BodyReader:
    """Reads the reply in an answer that is not a stream."""

    is_stream = False

    def __init__(self, reply: Reply) -> None:
        """Begin an answer.

        Args:
            reply: what is read is added to it.
        """
        self.reply = reply
        self._body = bytearray()

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if there are too many."""
        self._body += piece
        if len(self._body) > MAX_BODY_BYTES:
            raise ValueError(f"the answer has more than {MAX_BODY_BYTES:,} bytes")

    def end(self) -> None:
        """Read the answer. Raises ValueError if it is not JSON."""
        self.reply.add(json.loads(bytes(self._body)))
        self.reply.end()


class SniffingReader:
    """Reads the reply in an answer whose type does not say that it is a stream, although some servers send one so."""

    def __init__(self, reply: Reply) -> None:
        """Begin an answer.

        Args:
            reply: what is read is added to it.
        """
        self.reply = reply
        self._begun = b""  # until it shows what the answer is
        self._reader: ReplyReader | None = None

    @property
    def is_stream(self) -> bool:
        """True for an answer that begins like a stream."""
        return self._reader is not None and self._reader.is_stream

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""
        if self._reader is None:
            self._begun = (self._begun + piece).lstrip(BLANKS)
            if (reader := _recognize(self._begun)) is None:
                return
            self._reader, piece = reader(self.reply), self._begun
        self._reader.feed(piece)

    def end(self) -> None:
        """Read the end of the answer. Raises ValueError if it can't be read."""
        if self._reader is None:
            self._reader = BodyReader(self.reply)
            self._reader.feed(self._begun)
        self._reader.end()


def _recognize(begun: bytes) -> Callable[[Reply], ReplyReader] | None:
    """Return the reader for an answer that begins with these bytes; None if they are too few to tell."""
    if begun and begun[0] in EVENT_BEGINNINGS:
        return StreamReader
    line, line_end, _ = begun.partition(b"\n")
    if not line_end:
        return BodyReader if len(begun) > MAX_FIRST_LINE_BYTES else None
    first = _parse(line)  # a piece of a stream of Ollama's
    return LineReader if isinstance(first, dict) and first.get("done") is False else BodyReader


class DecompressingReader:
    """Reads the reply in a compressed answer."""

    def __init__(self, reader: ReplyReader) -> None:
        """Begin a compressed answer.

        Args:
            reader: reads the decompressed bytes.
        """
        self.reply = reader.reply
        self._reader = reader
        self._decompress = zlib.decompressobj(GZIP_OR_ZLIB)

    @property
    def is_stream(self) -> bool:
        """True for an answer that is known to be a stream."""
        return self._reader.is_stream

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""
        try:
            self._reader.feed(self._decompress.decompress(piece, MAX_CHUNK_BYTES))
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if self._decompress.unconsumed_tail:
            raise ValueError(f"a compressed piece has more than {MAX_CHUNK_BYTES:,} bytes")

    def end(self) -> None:
        """Read the end of the answer. Raises ValueError if it can't be read."""
        self._reader.end()


def _parse(data: bytes) -> object:
    """Parse an event of a stream; None if it is not JSON: some servers send blank ones, and a stream may be cut off."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def parse_type(content_type: str) -> str:
    """Return a media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def open_reader(content_type: str, content_encoding: str, reply: Reply) -> ReplyReader | None:
    """Return a reader for an answer; None if its compression is not known.

    Args:
        content_type: of the answer.
        content_encoding: of the answer; empty for none.
        reply: what is read is added to it.
    """
    readers: dict[str, Callable[[Reply], ReplyReader]] = {EVENT_STREAM: StreamReader, LINE_STREAM: LineReader}
    reader = readers.get(parse_type(content_type), SniffingReader)(reply)
    if not can_decompress(content_encoding):
        return None
    return DecompressingReader(reader) if content_encoding.strip().lower() in COMPRESSIONS else reader


def can_decompress(content_encoding: str) -> bool:
    """Return whether an answer of this encoding can be read."""
    return content_encoding.strip().lower() in ("", "identity", *COMPRESSIONS)
