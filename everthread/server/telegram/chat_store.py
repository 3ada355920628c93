"""The state of the bot in server.sqlite, without any text: invitations, chats, and the messages of the bot.

An invitation is stored as a hash of its code. The ids of the messages that show a line are stored for three
months; the buttons of older ones have no effect.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from everthread.server.server_db import Location, open_database

INVITATION_LIFETIME_S = 7 * 86_400.0
MESSAGE_LIFETIME_S = 90 * 86_400.0
CODE_BYTES = 12  # 16 characters, of those that may be part of a link

SCHEMA = """
CREATE TABLE IF NOT EXISTS telegram_invitations (code TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS telegram_chats (chat INTEGER PRIMARY KEY, pending INTEGER);
CREATE TABLE IF NOT EXISTS telegram_moved (chat INTEGER PRIMARY KEY, home INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS telegram_topics (chat INTEGER PRIMARY KEY, topic INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS telegram_sent
    (chat INTEGER, message INTEGER, line INTEGER, kind TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (chat, message))
    WITHOUT ROWID;
"""


class ChatStore:
    """Stores the state in one file, which several threads and processes of one machine can use at once.

    Each method raises StoreUnavailable if the file can't be used.
    """

    def __init__(self, location: Location) -> None:
        """Open the server's own data."""
        self._database = open_database(location, SCHEMA)

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    # --------------------------------------------------------------- invitations

    def invite(self) -> str:
        """Create an invitation, and return its code, with which one chat can begin within a week."""
        code = secrets.token_urlsafe(CODE_BYTES)
        with self._database.write() as db:
            db.execute("DELETE FROM telegram_invitations WHERE at < ?", (time.time() - INVITATION_LIFETIME_S,))
            db.execute("INSERT INTO telegram_invitations VALUES (?, ?)", (_hash(code), time.time()))
        return code

    def claim(self, chat: int, code: str) -> bool:
        """Begin a chat with the code of an invitation, which is then used up. Return whether the code is valid."""
        with self._database.write() as db:
            since = time.time() - INVITATION_LIFETIME_S
            used = db.execute("DELETE FROM telegram_invitations WHERE code = ? AND at >= ?", (_hash(code), since))
            if used.rowcount:
                db.execute("INSERT INTO telegram_chats (chat) VALUES (?) ON CONFLICT DO NOTHING", (chat,))
        return bool(used.rowcount)

    def is_claimed(self, chat: int) -> bool:
        """Return whether a chat began with an invitation."""
        with self._database.read() as db:
            query = "SELECT 1 FROM telegram_chats WHERE chat = ?"
            return db is not None and db.execute(query, (chat,)).fetchone() is not None

    def move(self, chat: int, successor: int) -> None:
        """Let the supergroup that a group has become continue it, if the group began with an invitation."""
        with self._database.write() as db:
            query = "SELECT 1 FROM telegram_chats WHERE chat = ?"
            if db.execute(query, (chat,)).fetchone() and not db.execute(query, (successor,)).fetchone():
                db.execute("INSERT INTO telegram_chats (chat) VALUES (?)", (successor,))
                db.execute("INSERT INTO telegram_moved VALUES (?, ?)", (successor, chat))

    def find_home(self, chat: int) -> int:
        """Return the chat that names the bank: for a supergroup, the group that has become it."""
        with self._database.read() as db:
            query = "SELECT home FROM telegram_moved WHERE chat = ?"
            row = None if db is None else db.execute(query, (chat,)).fetchone()
        return chat if row is None else int(row[0])

    def find_successor(self, chat: int) -> int | None:
        """Return the supergroup that continues a group, or None."""
        with self._database.read() as db:
            query = "SELECT chat FROM telegram_moved WHERE home = ?"
            row = None if db is None else db.execute(query, (chat,)).fetchone()
        return None if row is None else int(row[0])

    # ------------------------------------------------------------ topics of forums

    def set_topic(self, chat: int, topic: int | None) -> None:
        """Store the topic in which the bot was last addressed in a chat; None: in none."""
        if topic == self.get_topic(chat):
            return
        with self._database.write() as db:
            if topic is None:
                db.execute("DELETE FROM telegram_topics WHERE chat = ?", (chat,))
            else:
                db.execute(
                    "INSERT INTO telegram_topics VALUES (?, ?) ON CONFLICT (chat) DO UPDATE SET topic = excluded.topic",
                    (chat, topic),
                )

    def get_topic(self, chat: int) -> int | None:
        """Return the topic in which the bot was last addressed in a chat, or None."""
        with self._database.read() as db:
            query = "SELECT topic FROM telegram_topics WHERE chat = ?"
            row = None if db is None else db.execute(query, (chat,)).fetchone()
        return None if row is None else int(row[0])

    # ------------------------------------------------------------ pending replies

    def set_pending(self, chat: int, message: int | None) -> None:
        """Store the id of a chat's last message that has to be answered; None: all are."""
        with self._database.write() as db:
            db.execute("UPDATE telegram_chats SET pending = ? WHERE chat = ?", (message, chat))

    def get_pending(self, chat: int) -> int | None:
        """Return the id of a chat's last message that has to be answered, or None."""
        return dict(self.list_pending()).get(chat)

    def list_pending(self) -> list[tuple[int, int]]:
        """Return the chats with a message that has to be answered, each with its id."""
        with self._database.read() as db:
            query = "SELECT chat, pending FROM telegram_chats WHERE pending IS NOT NULL"
            return [] if db is None else db.execute(query).fetchall()

    # --------------------------------------------------------- messages of the bot

    def save_sent(self, chat: int, messages: Collection[int], line: int, kind: str = "reply") -> None:
        """Store which messages of the bot show a line of the bank ("reply"), or ask about it ("correct", "forget")."""
        with self._database.write() as db:
            now_s = time.time()
            db.execute("DELETE FROM telegram_sent WHERE at < ?", (now_s - MESSAGE_LIFETIME_S,))
            rows = [(chat, message, line, kind, now_s) for message in messages]
            db.executemany(
                "INSERT INTO telegram_sent VALUES (?, ?, ?, ?, ?) ON CONFLICT (chat, message) "
                "DO UPDATE SET line = excluded.line, kind = excluded.kind, at = excluded.at",
                rows,
            )

    def list_sent(self, chat: int, line: int) -> list[int]:
        """Return the messages that show a line, in their order."""
        with self._database.read() as db:
            query = "SELECT message FROM telegram_sent WHERE chat = ? AND line = ? AND kind = 'reply' ORDER BY message"
            return [] if db is None else [message for (message,) in db.execute(query, (chat, line))]

    def find_line(self, chat: int, message: int, kind: str) -> int | None:
        """Return the line that a message of this kind is about, or None."""
        with self._database.read() as db:
            query = "SELECT line FROM telegram_sent WHERE chat = ? AND message = ? AND kind = ?"
            row = None if db is None else db.execute(query, (chat, message, kind)).fetchone()
        return None if row is None else int(row[0])

    def release(self, chat: int, lines: Collection[int]) -> None:
        """Let the next reply take the place of these lines, which were discarded."""
        with self._database.write() as db:
            query = "UPDATE telegram_sent SET kind = 'free' WHERE chat = ? AND line = ? AND kind = 'reply'"
            db.executemany(query, [(chat, line) for line in lines])

    def list_free(self, chat: int) -> list[int]:
        """Return the messages whose place the next reply takes."""
        with self._database.read() as db:
            query = "SELECT message FROM telegram_sent WHERE chat = ? AND kind = 'free' ORDER BY message"
            return [] if db is None else [message for (message,) in db.execute(query, (chat,))]

    def remove_sent(self, chat: int, messages: Collection[int]) -> None:
        """Remove the ids of messages that were deleted."""
        with self._database.write() as db:
            query = "DELETE FROM telegram_sent WHERE chat = ? AND message = ?"
            db.executemany(query, [(chat, message) for message in messages])

    def remove_sent_until(self, chat: int, at: datetime) -> None:
        """Remove the ids of a chat's messages that were sent until a moment, at which its bank was forgotten: the next
        one has lines with the same numbers."""
        with self._database.write() as db:
            db.execute("DELETE FROM telegram_sent WHERE chat = ? AND at <= ?", (chat, at.timestamp()))


def _hash(code: str) -> str:
    return sha256(code.encode()).hexdigest()
