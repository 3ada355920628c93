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

    After the last piece `line` is the stored line; None if there is no model, and the recalled text was shown. A reply
    that is not read to its end is still stored by the server; `stop` stops it. Iteration raises as `Reply`, and
    StoreUnavailable if the server is gone.
    """

    def __init__(self, connection: Connection, bank: str, session: str, text: str, options: dict[str, Any]) -> None:
        """Send a text to be stored and replied to. Raises what the server reports; then nothing was stored."""
        self._connection, self._place = connection, ("banks", bank, "chat")
        self._asked, self._name = build_path(*self._place, session, "reply"), uuid.uuid4().hex
        self._body = {"text": text, "options": options}
        self.text = ""
        self.said: Line | None = None  # the person's line, as it was stored
        self.line: Line | None = None
        self.context = Context("", 0, (), (), (), 0.0)  # recalled for the reply
        self.offer = self.notes = ""
        self.ending: EndResult | None = None  # how the conversation ended, or the question whether to remember it
        self.partial = self.refused = False
        self.usage = Usage()
        self._lock = threading.RLock()  # held while an event is awaited
        self._ended = threading.Event()
        self._events = self._read_events()
        self._unread = self._until_recalled()

    def __next__(self) -> str:
        with self._lock:
            piece, self._unread = self._unread, ""
            while not piece and not self._ended.is_set():
                piece = self._next()
            if not piece:
                raise StopIteration
            return piece

    def stop(self) -> None:
        """Stop the reply; when this returns, what has arrived is stored."""
        if self._ended.is_set():
            return
        session = self.said.session if self.said else "current"
        self._connection.request("POST", build_path(*self._place, session, "stop"))
        with self._lock:
            while not self._ended.is_set():
                self._next()
            self._unread = ""

    def _until_recalled(self) -> str:
        """Read until it is known what was recalled. Return what is to be shown already."""
        for event in self._events:
            shown = self._apply(*event)
            if event[0] in ("context", "piece", "question", "ended", "done"):
                return shown
        return self._cut()

    def _next(self) -> str:
        """Return what the next event shows."""
        event = next(self._events, None)
        return self._cut() if event is None else self._apply(*event)

    def _cut(self) -> str:
        self._ended.set()
        raise LLMUnavailable("the stream ended before the reply was complete; what has arrived is stored")

    def _apply(self, kind: str, told: dict[str, Any]) -> str:
        """Apply an event, and return what it shows."""
        if kind == "line":
            self.said = decode.line(told["line"])
        elif kind == "context":
            self.context, self.offer, self.notes = decode.context(told), told["offer"], told["notes"]
        elif kind == "question":
            self.ending = EndResult(self.said.session if self.said else "", None, told["question"])
        elif kind == "ended":
            self.ending = decode.ending(told)
        elif kind == "piece":
            return self._append(self.text + told["text"])
        elif kind == "done":
            return self._done(told)
        elif kind == "error":
            self._ended.set()
            self.line = decode.line(told["line"]) if told.get("line") else None
            self.partial = self.line is not None
            raise build_error(told["status"], told, self._connection.url)
        return ""

    def _append(self, text: str) -> str:
        new, self.text = text[len(self.text) :], text
        return new

    def _done(self, told: dict[str, Any]) -> str:
        self._ended.set()
        self.line = decode.line(told["line"]) if told["line"] else None
        self.partial, self.refused = told["partial"], told["refused"]
        self.usage = decode.usage(told["usage"])
        missed = told["text"] if told["text"].startswith(self.text) else ""
        return self._append(missed or self.text)

    def _read_events(self) -> Iterator[Event]:
        """Yield the events. If the connection breaks they are read again from the beginning, without what was shown."""
        for tried in range(MAX_ATTEMPTS):
            come = ""
            try:
                with self._connection.stream("POST", self._asked, self._body, name=self._name) as answer:
                    for kind, told in _events(iter_rows(answer)):
                        if kind == "piece":
                            come += told["text"]
                            told = {"text": come[len(self.text) :]}
                        if kind != "piece" or told["text"]:
                            yield kind, told
                return
            except StoreUnavailable:
                if tried == MAX_ATTEMPTS - 1:
                    raise


def _events(rows: Iterator[str]) -> Iterator[Event]:
    """Parse server-sent events, whose data is one line of JSON; comments are skipped."""
    kind = ""
    for row in rows:
        name, _, value = row.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)
