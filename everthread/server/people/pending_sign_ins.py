"""Sign-ins that have begun at this server and go on at an OpenID Connect provider.

The browser holds a random token in a cookie; its hash is stored with the secrets of the sign-in, for one use.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from everthread.server.server_db import Location, open_database

LIFETIME_S = 600  # seconds for signing in at the provider
SECRET_BYTES = 32  # random

SCHEMA = """
CREATE TABLE IF NOT EXISTS pending_sign_in (
    hash BLOB PRIMARY KEY, state TEXT NOT NULL, nonce TEXT NOT NULL, verifier TEXT NOT NULL,
    expires_at REAL NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """The secrets of a sign-in. state: returns with the browser; nonce: in the ID token; verifier: proves the start."""

    state: str
    nonce: str
    verifier: str


class PendingSignIns:
    """Stores the sign-ins that have begun, for all processes of a server."""

    def __init__(self, location: Location, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = open_database(location, SCHEMA), clock

    def begin(self) -> tuple[str, PendingSignIn]:
        """Begin a sign-in. Returns the token for the browser, and the secrets."""
        token, *parts = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(4))
        at, pending = self._clock(), PendingSignIn(*parts)
        row = _hash(token), pending.state, pending.nonce, pending.verifier, at + LIFETIME_S
        with self._file.write() as db:
            db.execute("DELETE FROM pending_sign_in WHERE expires_at <= ?", (at,))
            db.execute("INSERT INTO pending_sign_in VALUES (?, ?, ?, ?, ?)", row)
        return token, pending

    def take(self, token: str) -> PendingSignIn | None:
        """Return and remove the sign-in of a token; None if it is unknown, used or expired."""
        statement = "DELETE FROM pending_sign_in WHERE hash = ? RETURNING state, nonce, verifier, expires_at"
        with self._file.write() as db:
            rows = db.execute(statement, (_hash(token),)).fetchall()
        return next((PendingSignIn(*secret) for *secret, expires_at in rows if expires_at > self._clock()), None)

    def close(self) -> None:
        """Close the connections."""
        self._file.close()


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
