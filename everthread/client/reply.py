"""A reply that is streamed from a server, with the interface of `everthread.chat.reply.Reply`."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

from everthread.client import decode
from everthread.client.connection import Connection, build_error, build_path, iter_rows
from everthread.errors import LLMUnavailable, StoreUnavailable
from everthread.types import Context, EndResult, Line, Usage

MAX_ATTEMPTS = 3  # to read a reply whose connection breaks; the server continues it in the meantime

Event = tuple[str, dict[str, Any]]


class RemoteReply(Iterator[str]):
    """An iterator over the pieces of a reply.

    After the last piece `line` is the stored line, or None if the server has no model and the recalled text was shown.
    The server also stores a reply that is not read to its end; `stop` stops it. Iteration raises the same
    errors as `Reply`, and StoreUnavailable if the server can't be reached.
    """

    def __init__(self, connection: Connection, bank: str, session: str, text: str, options: dict[str, Any]) -> None:
        """Send a text to be stored and replied to. If this raises the server's error, nothing is stored."""
        self._connection, self._chat_path = connection, ("banks", bank, "chat")
        self._path, self._idempotency_key = build_path(*self._chat_path, session, "reply"), uuid.uuid4().hex
        self._body = {"text": text, "options": options}
        self.text = ""
        self.user_line: Line | None = None  # the user's line, as it was stored
        self.line: Line | None = None
        self.context = Context("", 0, (), (), (), 0.0)  # recalled for the reply
        self.reminder = self.notes = ""
        self.ending: EndResult | None = None  # how the conversation ended, or the question whether to remember it
        self.partial = self.refused = False
        self.usage = Usage()
        self._lock = threading.RLock()  # held while an event is awaited
        self._ended = threading.Event()
        self._events = self._read_events()
        self._unread_text = self._read_context()

    def __next__(self) -> str:
        with self._lock:
            piece, self._unread_text = self._unread_text, ""
            while not piece and not self._ended.is_set():
                piece = self._read_next()
            if not piece:
                raise StopIteration
            return piece

    def stop(self) -> None:
        """Stop the reply; when this returns, what has arrived is stored."""
        if self._ended.is_set():
            return
        session = self.user_line.session if self.user_line else "current"
        self._connection.request("POST", build_path(*self._chat_path, session, "stop"))
        with self._lock:
            while not self._ended.is_set():
                self._read_next()
            self._unread_text = ""

    def _read_context(self) -> str:
        """Read events until the recalled context has arrived; return the text to show so far."""
        for event in self._events:
            text = self._apply(*event)
            if event[0] in ("context", "piece", "question", "ended", "done"):
                return text
        return self._fail_incomplete()

    def _read_next(self) -> str:
        """Apply the next event; return the text to show."""
        event = next(self._events, None)
        return self._fail_incomplete() if event is None else self._apply(*event)

    def _fail_incomplete(self) -> str:
        self._ended.set()
        raise LLMUnavailable("the stream ended before the reply was complete; what has arrived is stored")

    def _apply(self, kind: str, data: dict[str, Any]) -> str:
        """Apply an event; return the text to show."""
        if kind == "line":
            self.user_line = decode.line(data["line"])
        elif kind == "context":
            self.context, self.reminder, self.notes = decode.context(data), data["offer"], data["notes"]
        elif kind == "question":
            self.ending = EndResult(self.user_line.session if self.user_line else "", None, data["question"])
        elif kind == "ended":
            self.ending = decode.end_result(data)
        elif kind == "piece":
            return self._append_text(self.text + data["text"])
        elif kind == "done":
            return self._finish(data)
        elif kind == "error":
            self._ended.set()
            self.line = decode.line(data["line"]) if data.get("line") else None
            self.partial = self.line is not None
            raise build_error(data["status"], data, self._connection.url)
        return ""

    def _append_text(self, text: str) -> str:
        new, self.text = text[len(self.text) :], text
        return new

    def _finish(self, data: dict[str, Any]) -> str:
        self._ended.set()
        self.line = decode.line(data["line"]) if data["line"] else None
        self.partial, self.refused = data["partial"], data["refused"]
        self.usage = decode.usage(data["usage"])
        full_text = data["text"] if data["text"].startswith(self.text) else ""
        return self._append_text(full_text or self.text)

    def _read_events(self) -> Iterator[Event]:
        """Yield the events. If the connection breaks, read them again from the start."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                yield from self._stream_events()
                return
            except StoreUnavailable:
                if attempt == MAX_ATTEMPTS - 1:
                    raise

    def _stream_events(self) -> Iterator[Event]:
        """Yield the events of one connection, without the text shown before."""
        streamed = ""
        with self._connection.stream("POST", self._path, self._body, idempotency_key=self._idempotency_key) as response:
            for kind, data in parse_events(iter_rows(response)):
                if kind == "piece":
                    streamed += data["text"]
                    data = {"text": streamed[len(self.text) :]}
                if kind != "piece" or data["text"]:
                    yield kind, data


def parse_events(rows: Iterator[str]) -> Iterator[Event]:
    """Yield server-sent events, whose data is one line of JSON; skip comments."""
    kind = ""
    for row in rows:
        name, _, value = row.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)
