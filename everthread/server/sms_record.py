"""What the text messages need to be answered once, and to be left alone: a small database beside the banks, without a
word of what was said and without a number in clear.

It knows whose messages have been answered (by the hash of the message's name at Twilio) and of what the answer was made:
lines of the bank, by their numbers, and phrases of ours; and who has said STOP, by their hash. The key of that hash lies
in a file of its own, which only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from everthread.errors import ConfigError, StoreUnavailable

Part = tuple[str, int]  # a line of the bank ("line", its number), or a phrase and the number in it
Parts = tuple[Part, ...]

LEASE = 20.0  # seconds in which whoever took a message up answers it or says that it will be late
KEPT = 86_400.0  # seconds that an answer is known: Twilio tries again within minutes
PATIENCE = 10.0  # seconds to wait for another process that writes

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS answered (message TEXT PRIMARY KEY, parts TEXT, at REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS stopped (person TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
"""


class Record:
    """Safe from many threads and processes of one machine."""

    def __init__(self, folder: Path) -> None:
        """The record in a folder, which is made. Raises ConfigError where it can't be written."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._secret = _secret(folder / "sms.key")
            self._path = folder / "sms.db"
            with closing(self._connected()) as db:
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(_SCHEMA)
            self._path.chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"text messages need a folder that can be written, and {folder} can't: {error}"
            ) from error

    def person(self, number: str) -> str:
        """Who has that telephone number: HMAC-SHA256 of it, of which nobody without the key can guess it."""
        return hmac.digest(self._secret, number.strip().encode(), "sha256").hex()[:40]

    # -------------------------------------------------------------- answered once

    def claim(self, message: str) -> Parts | bool:
        """Take a message up: True, if it is this caller's to answer now, and False while another does. What was
        answered, where that is done. Raises StoreUnavailable."""
        name, at = _digest(message), time.time()
        with self._writing() as db:
            db.execute("DELETE FROM answered WHERE at < ?", (at - KEPT,))
            row = db.execute("SELECT parts, at FROM answered WHERE message = ?", (name,)).fetchone()
            if row is not None and row[0] is not None:
                return tuple((str(kind), int(number)) for kind, number in json.loads(row[0]))
            if row is not None and 0 <= at - row[1] < LEASE:
                return False
            db.execute("INSERT OR REPLACE INTO answered VALUES (?, NULL, ?)", (name, at))
            return True

    def answered(self, message: str, parts: Sequence[Part]) -> None:
        """Keep of what the answer to a message was made. Raises StoreUnavailable."""
        with self._writing() as db:
            told = json.dumps([list(part) for part in parts])
            db.execute("INSERT OR REPLACE INTO answered VALUES (?, ?, ?)", (_digest(message), told, time.time()))

    # ------------------------------------------------------------------ left alone

    def stop(self, person: str) -> None:
        """Write nothing to this person any more. Raises StoreUnavailable."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO stopped VALUES (?, ?)", (person, time.time()))

    def start(self, person: str) -> None:
        """Write to this person again. Raises StoreUnavailable."""
        with self._writing() as db:
            db.execute("DELETE FROM stopped WHERE person = ?", (person,))

    def stopped(self, person: str) -> bool:
        """Whether this person wants to be left alone. Raises StoreUnavailable."""
        with self._writing() as db:
            return db.execute("SELECT 1 FROM stopped WHERE person = ?", (person,)).fetchone() is not None

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        try:
            with closing(self._connected()) as db:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"the record of text messages can't be written just now: {error}") from error


def _digest(message: str) -> str:
    return hashlib.sha256(message.encode()).hexdigest()


def _secret(path: Path) -> bytes:
    """The key in a file; a new one, where there is none. It appears whole or not at all, whoever else begins now."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    found = path.read_bytes()
    if len(found) != 32:
        raise OSError(f"{path} holds {len(found)} bytes, and a key has 32; put the right one back")
    return found
