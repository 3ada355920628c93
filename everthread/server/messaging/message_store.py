"""The state of a channel's messages in server.sqlite, without any text.

One table has the parts of each answer, by a hash of the message's id. The other has the people who have opted out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from everthread.server.messaging.message import AnswerPart, AnswerParts, hash_id
from everthread.server.server_db import Location, open_database

LEASE_S = 20.0  # the time in which a caller saves the answer, or a text to send because the answer is late
ANSWER_LIFETIME_S = 86_400.0  # a message is delivered again within minutes


class MessageStore:
    """Stores answers and opt-outs in one file, which several threads and processes of one machine can use at once."""

    def __init__(self, location: Location, channel: str) -> None:
        """Open the server's own data.

        Args:
            location: of the server's own data.
            channel: the name of the channel, with which the names of its tables begin.
        """
        self._answered, self._stopped = f"{channel}_answered", f"{channel}_stopped"
        self._upsert_answer = (
            f"INSERT INTO {self._answered} VALUES (?, ?, ?) ON CONFLICT (message) "
            "DO UPDATE SET parts = excluded.parts, at = excluded.at"
        )
        self._database = open_database(
            location,
            f"CREATE TABLE IF NOT EXISTS {self._answered}"
            " (message TEXT PRIMARY KEY, parts TEXT, at REAL NOT NULL) WITHOUT ROWID;"
            f"CREATE TABLE IF NOT EXISTS {self._stopped} (person TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;",
        )

    # ------------------------------------------------------------------- answers

    def lease(self, message: str) -> AnswerParts | bool:
        """Lease a message to be answered.

        Returns:
            True if the caller must answer it now, False if another caller does; the parts of the answer if it exists.

        Raises:
            StoreUnavailable: if the file can't be written.
        """
        digest, now_s = hash_id(message), time.time()
        with self._database.write(digest) as db:
            db.execute(f"DELETE FROM {self._answered} WHERE at < ?", (now_s - ANSWER_LIFETIME_S,))
            row = db.execute(f"SELECT parts, at FROM {self._answered} WHERE message = ?", (digest,)).fetchone()
            if row is not None and row[0] is not None:
                return tuple((str(kind), int(number)) for kind, number in json.loads(row[0]))
            if row is not None and 0 <= now_s - row[1] < LEASE_S:
                return False
            db.execute(self._upsert_answer, (digest, None, now_s))
            return True

    def save_answer(self, message: str, parts: Sequence[AnswerPart]) -> None:
        """Save the parts of the answer to a message. Raises StoreUnavailable."""
        digest, parts_json = hash_id(message), json.dumps([list(part) for part in parts])
        with self._database.write(digest) as db:
            db.execute(self._upsert_answer, (digest, parts_json, time.time()))

    # ------------------------------------------------------------------- opt-outs

    def opt_out(self, person: str) -> None:
        """Record that a person has opted out. Raises StoreUnavailable."""
        with self._database.write() as db:
            db.execute(
                f"INSERT INTO {self._stopped} VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET at = excluded.at",
                (person, time.time()),
            )

    def opt_in(self, person: str) -> None:
        """Record that a person has opted in again. Raises StoreUnavailable."""
        with self._database.write() as db:
            db.execute(f"DELETE FROM {self._stopped} WHERE person = ?", (person,))

    def has_opted_out(self, person: str) -> bool:
        """Return whether a person has opted out. Raises StoreUnavailable."""
        with self._database.read() as db:
            query = f"SELECT 1 FROM {self._stopped} WHERE person = ?"
            return db is not None and db.execute(query, (person,)).fetchone() is not None

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
