"""A reply that comes over the wire, as the library's own `Reply` comes from a model."""

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

MAX_ATTEMPTS = 3  # times that a reply is taken up again whose line broke; the server goes on with it meanwhile

Event = tuple[str, dict[str, Any]]


class RemoteReply(Iterator[str]):
    """An iterator over the pieces of a reply.

    Read to its end, `line` is the line that was kept; None where no model is there, and what is remembered was shown.
    Whoever does not read on does not stop it: the server keeps it all the same, and `stop` stops it. While it is
    iterated it raises as `Reply`, and StoreUnavailable where the server is gone.
    """

    def __init__(self, connection: Connection, bank: str, session: str, text: str, options: dict[str, Any]) -> None:
        """Have a text kept and answered. Raises what the server says is wrong with it, and then nothing was kept."""
        self._connection, self._place = connection, ("banks", bank, "chat")
        self._asked, self._name = build_path(*self._place, session, "reply"), uuid.uuid4().hex
        self._body = {"text": text, "options": options}
        self.text = ""
        self.said: Line | None = None  # what the person said, as it is kept
        self.line: Line | None = None
        self.context = Context("", 0, (), (), (), 0.0)  # what was recalled for it
        self.offer = self.notes = ""
        self.ending: EndResult | None = None  # how the conversation ended, or the question whether to remember it
        self.partial = self.refused = False
        self.usage = Usage()
        self._lock = threading.RLock()  # held while an event is awaited
        self._ended = threading.Event()
        self._events = self._followed()
        self._left = self._until_recalled()

    def __next__(self) -> str:
        with self._lock:
            piece, self._left = self._left, ""
            while not piece and not self._ended.is_set():
                piece = self._next()
            if not piece:
                raise StopIteration
            return piece

    def stop(self) -> None:
        """Stop it: when this returns, what has arrived is kept."""
        if self._ended.is_set():
            return
        session = self.said.session if self.said else "current"
        self._connection.request("POST", build_path(*self._place, session, "stop"))
        with self._lock:
            while not self._ended.is_set():
                self._next()
            self._left = ""

    def _until_recalled(self) -> str:
        """Read on until it is known what was recalled; what is to be shown already."""
        for event in self._events:
            shown = self._taken(*event)
            if event[0] in ("context", "piece", "question", "ended", "done"):
                return shown
        return self._cut()

    def _next(self) -> str:
        """What the next event shows."""
        event = next(self._events, None)
        return self._cut() if event is None else self._taken(*event)

    def _cut(self) -> str:
        self._ended.set()
        raise LLMUnavailable("the reply ended before it was done; what has come of it is kept")

    def _taken(self, kind: str, told: dict[str, Any]) -> str:
        """What an event tells, and what of it is shown."""
        if kind == "line":
            self.said = decode.line(told["line"])
        elif kind == "context":
            self.context, self.offer, self.notes = decode.context(told), told["offer"], told["notes"]
        elif kind == "question":
            self.ending = EndResult(self.said.session if self.said else "", None, told["question"])
        elif kind == "ended":
            self.ending = decode.ending(told)
        elif kind == "piece":
            return self._grown(self.text + told["text"])
        elif kind == "done":
            return self._done(told)
        elif kind == "error":
            self._ended.set()
            self.line = decode.line(told["line"]) if told.get("line") else None
            self.partial = self.line is not None
            raise build_error(told["status"], told, self._connection.url)
        return ""

    def _grown(self, text: str) -> str:
        new, self.text = text[len(self.text) :], text
        return new

    def _done(self, told: dict[str, Any]) -> str:
        self._ended.set()
        self.line = decode.line(told["line"]) if told["line"] else None
        self.partial, self.refused = told["partial"], told["refused"]
        self.usage = decode.usage(told["usage"])
        missed = told["text"] if told["text"].startswith(self.text) else ""
        return self._grown(missed or self.text)

    def _followed(self) -> Iterator[Event]:
        """The events; taken up again from the beginning where the line breaks, with what was shown left out."""
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
    """Server-sent events, whose data is one line of JSON; comments are left out."""
    kind = ""
    for row in rows:
        name, _, value = row.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)
