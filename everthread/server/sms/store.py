"""What the text messages need to be answered once, and to be left alone: rows in server.sqlite, without a word of what
was said and without a telephone number.

They tell which messages were answered (by the hash of their names at Twilio) and of what the answers were made: lines
of the bank, by their numbers, and phrases of ours; and who has said STOP, by the hash of their number. The key of that
hash lies in a file of its own, which only its owner can read.
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

AnswerPart = tuple[str, int]  # a line of the bank ("line", its number), or a phrase and the number in it
AnswerParts = tuple[AnswerPart, ...]

KEY_FILE = "sms.key"  # a file beside the banks
LEASE_S = 20.0  # seconds in which whoever took a message up answers it or says that it will be late
ANSWER_LIFETIME_S = 86_400.0  # seconds that an answer is known: Twilio tries again within minutes

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS sms_answered (message TEXT PRIMARY KEY, parts TEXT, at REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sms_stopped (person TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
"""


class SmsStore:
    """Safe from many threads and processes of one machine."""

    def __init__(self, file: Path) -> None:
        """The rows in this file, and the key beside it, which is made. ConfigError where it can't be."""
        self._beside = ServerDatabase(file, _SCHEMA)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._secret = _secret(file.with_name(KEY_FILE))
        except OSError as error:
            raise ConfigError(f"text messages need a key in {file.parent}, and none can be kept: {error}") from error

    def hash_number(self, number: str) -> str:
        """Who has that telephone number: HMAC-SHA256 of it, of which nobody without the key can guess it."""
        return hmac.digest(self._secret, number.strip().encode(), "sha256").hex()[:40]

    # -------------------------------------------------------------- answered once

    def lease(self, message: str) -> AnswerParts | bool:
        """Take a message up: True, if it is this caller's to answer now, and False while another does. What was
        answered, where that is done. Raises StoreUnavailable."""
        name, at = _digest(message), time.time()
        with self._beside.write() as db:
            db.execute("DELETE FROM sms_answered WHERE at < ?", (at - ANSWER_LIFETIME_S,))
            row = db.execute("SELECT parts, at FROM sms_answered WHERE message = ?", (name,)).fetchone()
            if row is not None and row[0] is not None:
                return tuple((str(kind), int(number)) for kind, number in json.loads(row[0]))
            if row is not None and 0 <= at - row[1] < LEASE_S:
                return False
            db.execute("INSERT OR REPLACE INTO sms_answered VALUES (?, NULL, ?)", (name, at))
            return True

    def save_answer(self, message: str, parts: Sequence[AnswerPart]) -> None:
        """Keep of what the answer to a message was made. Raises StoreUnavailable."""
        with self._beside.write() as db:
            told = json.dumps([list(part) for part in parts])
            db.execute("INSERT OR REPLACE INTO sms_answered VALUES (?, ?, ?)", (_digest(message), told, time.time()))

    # ------------------------------------------------------------------ left alone

    def opt_out(self, person: str) -> None:
        """Write nothing to this person any more. Raises StoreUnavailable."""
        with self._beside.write() as db:
            db.execute("INSERT OR REPLACE INTO sms_stopped VALUES (?, ?)", (person, time.time()))

    def opt_in(self, person: str) -> None:
        """Write to this person again. Raises StoreUnavailable."""
        with self._beside.write() as db:
            db.execute("DELETE FROM sms_stopped WHERE person = ?", (person,))

    def has_opted_out(self, person: str) -> bool:
        """Whether this person wants to be left alone. Raises StoreUnavailable."""
        with self._beside.read() as db:
            asked = "SELECT 1 FROM sms_stopped WHERE person = ?"
            return db is not None and db.execute(asked, (person,)).fetchone() is not None

    def close(self) -> None:
        """Let go of the file."""
        self._beside.close()


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
