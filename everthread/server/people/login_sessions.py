"""Sessions of people who have signed in. The browser holds a random token in a cookie; its hash is stored."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from hashlib import sha256

from everthread.server.people import accounts
from everthread.server.people.accounts import Account
from everthread.server.server_db import Location, open_database

LIFETIME_S = 30 * 86_400  # seconds; then one signs in again
TOKEN_BYTES = 32  # random

SCHEMA = """
CREATE TABLE IF NOT EXISTS login_session (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID;
"""


class LoginSessions:
    """Stores the sessions of a server. One that another process has ended is invalid at the next request."""

    def __init__(self, location: Location, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = open_database(location, accounts.SCHEMA + SCHEMA), clock

    def begin(self, account: Account) -> str:
        """Begin a session of an account, and return its token."""
        token, at = secrets.token_urlsafe(TOKEN_BYTES), self._clock()
        with self._file.write() as db:
            db.execute("DELETE FROM login_session WHERE expires_at < ?", (at,))
            db.execute("INSERT INTO login_session VALUES (?, ?, ?)", (_hash(token), account.id, at + LIFETIME_S))
        return token

    def find_account(self, token: str) -> Account | None:
        """Return the account of a session; None if it is unknown, over, or its account is locked or removed."""
        with self._file.read() as db:
            if db is None:
                return None
            query = (
                f"SELECT {accounts.COLUMNS} FROM login_session JOIN account ON account.id = login_session.account "
                "WHERE hash = ? AND expires_at > ? AND locked = 0"
            )
            row = db.execute(query, (_hash(token), self._clock())).fetchone()
        return accounts.parse_row(row) if row else None

    def end(self, token: str) -> None:
        """End a session."""
        with self._file.write() as db:
            db.execute("DELETE FROM login_session WHERE hash = ?", (_hash(token),))

    def end_all(self, account: Account) -> None:
        """End all sessions of an account."""
        with self._file.write() as db:
            db.execute("DELETE FROM login_session WHERE account = ?", (account.id,))

    def close(self) -> None:
        """Close the connections."""
        self._file.close()


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
