"""The state of text messages in server.sqlite, without any text or telephone number.

One table has the parts of each answer, by a hash of Twilio's id of the message. The other has the people who have opted
out, by a hash of their number; the key of that hash is in a file of its own, which only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from everthread.errors import ConfigError
from everthread.server.server_db import ServerDatabase

AnswerPart = tuple[str, int]  # "line" and the number of a line, or the name of a text of the bot and a number in it
AnswerParts = tuple[AnswerPart, ...]

KEY_FILE = "sms.key"  # next to the banks
LEASE_S = 20.0  # within this time the holder saves the answer, or a text to send because the answer is late
ANSWER_LIFETIME_S = 86_400.0  # Twilio repeats a request within minutes

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS sms_answered (message TEXT PRIMARY KEY, parts TEXT, at REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sms_stopped (person TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
"""


class SmsStore:
    """Stores answers and opt-outs in one file, which several threads and processes of one machine can use at once."""

    def __init__(self, file: Path) -> None:
        """Open the file and the key next to it, which is created if it is missing.

        Raises:
            ConfigError: if the key can't be created.
        """
        self._database = ServerDatabase(file, _SCHEMA)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._secret = _load_secret(file.with_name(KEY_FILE))
        except OSError as error:
            raise ConfigError(f"text messages need a key in {file.parent}, which can't be used: {error}") from error

    def hash_number(self, number: str) -> str:
        """Return the id of a person: HMAC-SHA256 of the telephone number, which can't be guessed without the key."""
        return hmac.digest(self._secret, number.strip().encode(), "sha256").hex()[:40]

    # ------------------------------------------------------------------- answers

    def lease(self, message: str) -> AnswerParts | bool:
        """Lease a message to be answered.

        Returns:
            True if the caller must answer it now, False if another caller does; the parts of the answer if it exists.

        Raises:
            StoreUnavailable: if the file can't be written.
        """
        digest, now_s = _digest(message), time.time()
        with self._database.write() as db:
            db.execute("DELETE FROM sms_answered WHERE at < ?", (now_s - ANSWER_LIFETIME_S,))
            row = db.execute("SELECT parts, at FROM sms_answered WHERE message = ?", (digest,)).fetchone()
            if row is not None and row[0] is not None:
                return tuple((str(kind), int(number)) for kind, number in json.loads(row[0]))
            if row is not None and 0 <= now_s - row[1] < LEASE_S:
                return False
            db.execute("INSERT OR REPLACE INTO sms_answered VALUES (?, NULL, ?)", (digest, now_s))
            return True

    def save_answer(self, message: str, parts: Sequence[AnswerPart]) -> None:
        """Save the parts of the answer to a message. Raises StoreUnavailable."""
        with self._database.write() as db:
            parts_json = json.dumps([list(part) for part in parts])
            db.execute(
                "INSERT OR REPLACE INTO sms_answered VALUES (?, ?, ?)", (_digest(message), parts_json, time.time())
            )

    # ------------------------------------------------------------------- opt-outs

    def opt_out(self, person: str) -> None:
        """Record that a person has opted out. Raises StoreUnavailable."""
        with self._database.write() as db:
            db.execute("INSERT OR REPLACE INTO sms_stopped VALUES (?, ?)", (person, time.time()))

    def opt_in(self, person: str) -> None:
        """Record that a person has opted in again. Raises StoreUnavailable."""
        with self._database.write() as db:
            db.execute("DELETE FROM sms_stopped WHERE person = ?", (person,))

    def has_opted_out(self, person: str) -> bool:
        """Return whether a person has opted out. Raises StoreUnavailable."""
        with self._database.read() as db:
            query = "SELECT 1 FROM sms_stopped WHERE person = ?"
            return db is not None and db.execute(query, (person,)).fetchone() is not None

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _digest(message: str) -> str:
    return hashlib.sha256(message.encode()).hexdigest()


def _load_secret(path: Path) -> bytes:
    """Read the key from a file, which is created atomically if it is missing."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    secret = path.read_bytes()
    if len(secret) != 32:
        raise OSError(f"invalid key in {path}: got {len(secret)} bytes, expected 32; restore the original file")
    return secret
