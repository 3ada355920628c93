"""One person, with a bank of their own: chooses what to do next, does it, and notes in the journal what was answered.

A person does one thing at a time, except that a reply may still be written after its reader has left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

from everthread.bench.soak.journal import Entry, Journal
from everthread.bench.soak.markers import find_markers, is_of_model
from everthread.bench.soak.requests import PatientConnection
from everthread.bench.soak.talk import compose_line, compose_question
from everthread.client.connection import FileBody, build_path
from everthread.client.reply import Event
from everthread.errors import EverthreadError, NotFound

SECONDS_BETWEEN_LINES = 40
IMPORTED_LINES = (3, 12)
BATCH_LINES = (2, 6)
NDJSON = "application/x-ndjson"
ACTIONS = {  # relative frequency
    "observe": 40,
    "observe_batch": 8,
    "recall": 25,
    "context": 5,
    "chat": 14,
    "leave_reply": 2,
    "end_chat": 5,
    "end_and_forget_chat": 1,
    "forget_line": 5,
    "forget_session": 1,
    "forget_bank": 0.2,
    "retract": 3,
    "correct": 2,
    "import_file": 2,
}


class Person:
    """One person and their bank.

    Attributes:
        bank: the bank's id.
        relapses: what was recalled of lines that were acknowledged as forgotten.
        recalled: how many of the recalled lines were among the hits.
        asked: how many lines were recalled.
        unreachable: receipts that name a backup that could not be reached.
    """

    def __init__(
        self, number: int, seed: int, connection: PatientConnection, journal: Journal, now: Callable[[], datetime]
    ) -> None:
        """Make a person.

        Args:
            number: of the person.
            seed: of all choices.
            connection: to the server.
            journal: of all people.
            now: returns the simulated time.
        """
        self.bank = f"person-{number}"
        self.relapses: list[str] = []
        self.asked = self.recalled = self.unreachable = 0
        self._rng = Random(f"{seed}/{number}")
        self._connection, self._journal, self._now = connection, journal, now
        self._texts: dict[str, str] = {}  # of stored lines, by marker
        self._sessions = 0
        self._session, self._chat = "", ""  # in which the person talks, and chats
        self._said_at = now()

    def act(self) -> None:
        """Do the next thing. Errors of the server are counted, and nothing more is done."""
        name = self._rng.choices(list(ACTIONS), list(ACTIONS.values()))[0]
        with suppress(EverthreadError):
            getattr(self, name)()

    # ------------------------------------------------------------------ writing

    def observe(self) -> None:
        """Say one line."""
        marker, row = self._next_line()
        entry = self._journal.add(marker, self.bank, row["session"])
        line = self._send("observe", "POST", "lines", body=row)
        self._acknowledge(entry, line)

    def observe_batch(self) -> None:
        """Say several lines in one request."""
        rows = [self._next_line() for _ in range(self._rng.randint(*BATCH_LINES))]
        entries = [self._journal.add(marker, self.bank, row["session"]) for marker, row in rows]
        items = self._send("observe_batch", "POST", "lines", "batch", body={"lines": [row for _, row in rows]})["items"]
        for entry, line in zip(entries, items, strict=True):
            self._acknowledge(entry, line)

    def import_file(self) -> None:
        """Import a file of a conversation, twice."""
        self._session = ""
        rows = [self._next_line() for _ in range(self._rng.randint(*IMPORTED_LINES))]
        entries = {marker: self._journal.add(marker, self.bank, row["session"]) for marker, row in rows}
        file = FileBody("".join(json.dumps(row) + "\n" for _, row in rows).encode(), NDJSON)
        for _ in range(2):
            self._send("import", "POST", "import", body=file)
        for line in self._send("lines", "GET", "lines", session=rows[0][1]["session"], limit=100)["items"]:
            for marker in find_markers(line["text"]):
                self._acknowledge(entries[marker], line)
        self._journal.change([entry for entry in entries.values() if entry.state == "sending"], "stored")
        self._session = ""

    def correct(self) -> None:
        """Replace the text of a line."""
        if (old := self._choose_line()) is None:
            return
        marker, text = compose_line(self._rng)
        entry = self._journal.add(marker, self.bank, old.session, earlier=old.marker)
        self._journal.change([old], "retracting")
        self._acknowledge(entry, self._send("correct", "PATCH", "lines", old.seq, body={"text": text}))
        self._journal.change([old], "retracted")

    def retract(self) -> None:
        """Retract a line."""
        if (entry := self._choose_line()) is None:
            return
        self._journal.change([entry], "retracting")
        with suppress(NotFound):  # done by an attempt that was interrupted
            self._send("retract", "POST", "lines", entry.seq, "retract")
        self._journal.change([entry], "retracted")

    # --------------------------------------------------------------- forgetting

    def forget_line(self) -> None:
        """Have a line forgotten, with its earlier versions."""
        if (entry := self._choose_line()) is not None:
            self._forget(self._journal.versions(entry), "lines", entry.seq)

    def forget_session(self) -> None:
        """Have a session forgotten."""
        if (entry := self._choose_line()) is not None:
            self._forget(self._journal.of_bank(self.bank, session=entry.session), "sessions", entry.session)

    def forget_bank(self) -> None:
        """Have everything forgotten."""
        if entries := self._journal.of_bank(self.bank):
            self._forget(entries)

    def _forget(self, entries: Sequence[Entry], *names: str | int) -> None:
        entries = [entry for entry in entries if entry.state != "forgotten"]
        self._journal.change(entries, "forgetting")
        with suppress(NotFound):  # done by an attempt that was interrupted
            receipt = self._send(f"forget {names[0] if names else 'bank'}", "DELETE", *names)
            self.unreachable += bool(receipt.get("backups"))
        self._journal.change(entries, "forgotten")

    # ------------------------------------------------------------------ reading

    def recall(self) -> None:
        """Ask about a line."""
        entry = self._choose_line()
        text = compose_line(self._rng)[1] if entry is None else self._texts.get(entry.marker, "")
        query = compose_question(self._rng, text)
        hits = self._send("recall", "POST", "recall", body={"query": query, "k": 10})["items"]
        self._check_recalled(json.dumps(hits, ensure_ascii=False))
        if entry is not None:
            self.asked += 1
            self.recalled += entry.marker in json.dumps(hits).lower()

    def context(self) -> None:
        """Ask for memories as text, about a line that was forgotten if there is one."""
        forgotten = self._journal.of_bank(self.bank, "forgotten")
        query = self._rng.choice(forgotten).marker if forgotten else "Who is my sister?"
        self._check_recalled(json.dumps(self._send("context", "POST", "context", body={"query": query})))

    def _check_recalled(self, text: str) -> None:
        """Note forgotten lines in an answer."""
        for marker in filter(self._journal.is_forgotten, find_markers(text)):
            start = max(text.lower().index(marker) - 100, 0)
            self.relapses.append(f"{self.bank}: {marker} in …{text[start : start + 200]}…")

    # ----------------------------------------------------------------- chatting

    def chat(self) -> None:
        """Say something, and read the reply."""
        self._reply("chat", self._read_reply)

    def leave_reply(self) -> None:
        """Say something, and leave before the reply is written."""
        self._reply("leave_reply", self._read_line)

    def _reply(self, name: str, read: Callable[[Iterator[Event], Entry], None]) -> None:
        marker, text = compose_line(self._rng)
        entry = self._journal.add(marker, self.bank, "current")
        self._texts[marker] = text
        path = build_path("banks", self.bank, "chat", "current", "reply")
        self._connection.follow(name, path, {"text": text}, lambda events: read(events, entry))

    def _read_line(self, events: Iterator[Event], entry: Entry) -> None:
        """Read until the person's line is stored."""
        for kind, data in events:
            if kind == "line":
                self._chat = data["line"]["session"]
                self._journal.acknowledge(entry, data["line"]["seq"], self._chat)
                return

    def _read_reply(self, events: Iterator[Event], entry: Entry) -> None:
        """Read a reply to its end; of one that failed, what had arrived is stored."""
        self._read_line(events, entry)
        for kind, data in events:
            if kind == "context":
                self._check_recalled(json.dumps(data, ensure_ascii=False))
            elif kind in ("done", "error") and (line := data.get("line")):
                for marker in filter(is_of_model, find_markers(line["text"])):
                    self._journal.add(marker, self.bank, line["session"], "stored", seq=line["seq"])

    def end_chat(self) -> None:
        """End the conversation, so that it is summarised."""
        if self._chat:
            self._end(remember=True)

    def end_and_forget_chat(self) -> None:
        """End the conversation, and have it forgotten."""
        if not self._chat:
            return
        session = self._chat
        entries = self._journal.of_bank(self.bank, session=session)
        self._journal.change([entry for entry in entries if entry.state != "forgotten"], "forgetting")
        with suppress(EverthreadError):
            self._end(remember=False)
        self._forget(entries, "sessions", session)  # also if it had ended before

    def _end(self, remember: bool) -> None:
        session, self._chat = self._chat, ""
        self._send("end", "POST", "chat", session, "end", body={"remember": remember})

    # ------------------------------------------------------------------ helpers

    def _next_line(self) -> tuple[str, dict[str, Any]]:
        """Return the next line of the person's talk, and its marker. A new session begins now and then."""
        if not self._session or self._rng.random() < 0.1:
            self._sessions += 1
            self._session = f"talk-{self._sessions}"
            self._said_at = max(self._said_at, self._now())
        self._said_at += timedelta(seconds=SECONDS_BETWEEN_LINES)
        marker, text = compose_line(self._rng)
        self._texts[marker] = text
        row = {"text": text, "speaker": "Kim", "session": self._session, "said_at": self._said_at.isoformat()}
        return marker, row

    def _choose_line(self) -> Entry | None:
        """Return a line that is stored, the person's or a reply; None without one."""
        entries = [entry for entry in self._journal.of_bank(self.bank, "stored") if entry.seq]
        return self._rng.choice(entries) if entries else None

    def _acknowledge(self, entry: Entry, line: dict[str, Any]) -> None:
        self._journal.acknowledge(entry, line["seq"], line["session"])

    def _send(self, name: str, method: str, *names: str | int, body: object = None, **query: object) -> Any:
        return self._connection.send(name, method, build_path("banks", self.bank, *names), body, **query)
