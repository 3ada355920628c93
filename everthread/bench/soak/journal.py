"""The journal of what the clients asked for and what the server acknowledged, line by line.

A line is "sending" until its response has arrived, then "stored"; "retracting" and "forgetting" are states in between
as well. If a response never arrives, the line stays in such a state, and both outcomes are accepted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

State = Literal["sending", "stored", "retracting", "retracted", "forgetting", "forgotten"]


@dataclass(slots=True)
class Entry:
    """One line: seq is 0 until it is known; earlier is the marker of the line that it corrects."""

    marker: str
    bank: str
    session: str
    state: State
    seq: int = 0
    earlier: str | None = None


class Journal:
    """The state of every line, also written to a file, so that a failure can be traced. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.entries: dict[str, Entry] = {}
        self._by_bank: dict[str, list[Entry]] = {}
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()

    def add(
        self,
        marker: str,
        bank: str,
        session: str,
        state: State = "sending",
        *,
        seq: int = 0,
        earlier: str | None = None,
    ) -> Entry:
        """Note a new line."""
        entry = Entry(marker, bank, session, state, seq, earlier)
        with self._lock:
            self.entries[marker] = entry
            self._by_bank.setdefault(bank, []).append(entry)
            self._write(entry)
        return entry

    def acknowledge(self, entry: Entry, seq: int, session: str) -> None:
        """Note that a line is stored, with its number and session."""
        with self._lock:
            entry.seq, entry.session, entry.state = seq, session, "stored"
            self._write(entry)

    def change(self, entries: Iterable[Entry], state: State) -> None:
        """Note a new state of lines."""
        with self._lock:
            for entry in entries:
                entry.state = state
                self._write(entry)

    def versions(self, entry: Entry) -> list[Entry]:
        """Return a line and the lines that it corrects."""
        found = [entry]
        while (earlier := found[-1].earlier) is not None:
            found.append(self.entries[earlier])
        return found

    def is_forgotten(self, marker: str) -> bool:
        """Return whether it was acknowledged that a line is forgotten."""
        with self._lock:
            entry = self.entries.get(marker)
        return entry is not None and entry.state == "forgotten"

    def of_bank(self, bank: str, *states: State, session: str | None = None) -> list[Entry]:
        """Return the lines of a bank, only those in these states and in this session if any are given."""
        with self._lock:
            return [
                entry
                for entry in self._by_bank.get(bank, ())
                if (not states or entry.state in states) and (session is None or entry.session == session)
            ]

    def count(self, state: State) -> int:
        """Return the number of lines in a state."""
        with self._lock:
            return sum(entry.state == state for entry in self.entries.values())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, entry: Entry) -> None:
        self._file.write(json.dumps(asdict(entry)) + "\n")
