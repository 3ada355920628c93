"""Reads the reply in an answer of the upstream while its bytes are passed on.

Sources: OpenAI's API reference, "The chat completion object" and "The chat completion chunk object"; Ollama's API,
"Generate a chat completion". Only the choice with index 0 is read, and of it only the words: neither reasoning nor
calls of tools.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from everthread.server.proxy.event_stream import EventSplitter
from everthread.server.proxy.message_text import remove_thoughts
from everthread.server.proxy.wire import calls_tools, read_content

EVENT_STREAM = "text/event-stream"
LINE_STREAM = "application/x-ndjson"  # Ollama's: one JSON object a line
MAX_LINE_BYTES = 16_000_000
MAX_BODY_BYTES = 64_000_000  # of an answer that is not a stream; a longer one is not read
MAX_CHUNK_BYTES = 16_000_000  # of what a compressed piece expands to
DONE = b"[DONE]"
COMPLETE_REASONS = ("stop", "eos", "end_turn", "stop_sequence")  # finish reasons of replies that are not cut off
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


class Reply:
    """The words of a reply, as far as they have been read.

    Attributes:
        model: the model that the upstream names.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._transcript: list[str] = []
        self._calls_tools = False
        self._reason: object = None  # the finish reason
        self._has_ended = False
        self.model = ""

    @property
    def text(self) -> str:
        """The words, without thoughts."""
        return remove_thoughts("".join(self._pieces or self._transcript), cuts_unfinished=True).strip()

    def join(self, beginning: str) -> str:
        """Return the text after its beginning, which some upstreams repeat."""
        said = remove_thoughts("".join(self._pieces), cuts_unfinished=True)
        return (said if said.lstrip().startswith(beginning.strip()) else beginning + said).strip()

    @property
    def is_finished(self) -> bool:
        """True once nothing more will be said."""
        return self._has_ended or self._reason is not None

    @property
    def is_partial(self) -> bool:
        """True if it was cut off, or only precedes calls of tools."""
        is_complete = self._has_ended if self._reason is None else self._reason in COMPLETE_REASONS
        return self._calls_tools or not is_complete

    def end(self) -> None:
        """Note that the answer is complete."""
        self._has_ended = True

    def add(self, event: object) -> None:
        """Add an answer, or a chunk of one."""
        if not isinstance(event, dict):
            return
        self.model = event["model"] if isinstance(event.get("model"), str) else self.model
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._add_choice(choice)
        if choices is None and isinstance(event.get("message"), dict):  # Ollama's
            reason = (event.get("done_reason") or "stop") if event.get("done") else None
            self._add_choice({"message": event["message"], "finish_reason": reason})

    def _add_choice(self, choice: dict[str, Any]) -> None:
        message = choice.get("message") or choice.get("delta")
        if isinstance(message, dict):
            self._pieces += filter(None, [read_content(message.get("content"))[0]])
            audio = message.get("audio")
            if isinstance(audio, dict) and isinstance(audio.get("transcript"), str):
                self._transcript.append(audio["transcript"])
            self._calls_tools |= calls_tools(message)
        if reason := choice.get("finish_reason"):  # some upstreams send an empty one with every chunk
            self._reason = reason


class ReplyReader(Protocol):
    """Reads a reply from the bytes of an answer."""

    reply: Reply

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""

    def end(self) -> None:
        """Read the end of the answer. Raises ValueError if it can't be read."""


class StreamReader:
    """Reads the reply in a stream."""

    def __init__(self) -> None:
        self.reply = Reply()
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
            self.reply.add(json.loads(data))


class LineReader:
    """Reads the reply in a stream of JSON objects, one a line."""

    def __init__(self) -> None:
        self.reply = Reply()
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Read the next bytes. Raises ValueError if they can't be read."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in filter(bytes.strip, lines):
            self.reply.add(json.loads(line))
        if len(self._rest) > MAX_LINE_BYTES:
            raise ValueError(f"a line has more than {MAX_LINE_BYTES:,} bytes")

    def end(self) -> None:
        """Read the end of the stream. Raises ValueError if it can't be read."""
        self.feed(b"\n")


class BodyReader:
    """Reads the reply in an answer that is not a stream."""

    def __init__(self) -> None:
        self.reply = Reply()
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


class DecompressingReader:
    """Reads the reply in a compressed answer."""

    def __init__(self, reader: ReplyReader) -> None:
        """Args:
        reader: reads the decompressed bytes."""
        self.reply = reader.reply
        self._reader = reader
        self._decompress = zlib.decompressobj(GZIP_OR_ZLIB)

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


def parse_type(content_type: str) -> str:
    """Return a media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def open_reader(content_type: str, content_encoding: str) -> ReplyReader | None:
    """Return a reader for an answer; None if its compression is not known.

    Args:
        content_type: of the answer.
        content_encoding: of the answer; empty for none.
    """
    readers: dict[str, Callable[[], ReplyReader]] = {EVENT_STREAM: StreamReader, LINE_STREAM: LineReader}
    reader = readers.get(parse_type(content_type), BodyReader)()
    match content_encoding.strip().lower():
        case "" | "identity":
            return reader
        case "gzip" | "deflate":
            return DecompressingReader(reader)
    return None
