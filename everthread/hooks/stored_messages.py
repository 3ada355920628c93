"""Records up to which message hooks have stored a session, so that they never store a message twice.

A hook reads more than one turn of a transcript, because a server may have been unable to store an earlier one. Without
the record, a message that was forgotten would be stored again by the next hook. It is a file for each session and bank
among the user's state, which has only digests: its name, and the key of the last message.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import platformdirs

from everthread.common.atomic_write import write_atomically
from everthread.errors import StoreUnavailable
from everthread.types import NewLine

FOLDER = "hooks"
MAX_AGE_S = 90 * 86_400.0  # of a record: an agent continues no older session


class StoredMessages:
    """The record of one session in one bank."""

    def __init__(self, bank: str, session: str) -> None:
        """Open the record, which need not exist."""
        name = sha256(f"{bank}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._file = Path(platformdirs.user_state_dir("everthread"), FOLDER, name)

    def select_new(self, lines: Sequence[NewLine]) -> Sequence[NewLine]:
        """Return the lines after the last one that was recorded; all if it is not among them."""
        try:
            last = self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return lines
        keys = [line.key for line in lines]
        return lines[keys.index(last) + 1 :] if last in keys else lines

    def record(self, lines: Sequence[NewLine]) -> None:
        """Record that all of these lines, which have keys, were stored. Errors are ignored."""
        with suppress(OSError, StoreUnavailable):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._file, str(lines[-1].key).encode())
            for other in self._file.parent.iterdir():
                if time.time() - other.stat().st_mtime > MAX_AGE_S:
                    other.unlink()
