"""Limits failed attempts to sign in: after some, each further one makes the next wait longer.

Attempts are counted by account and address together, by address, and by account. With the first alone, many names could
be tried from one address; with the last alone, any client could keep a person from signing in. Names without an account
are counted as well, so that the answers don't tell them apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from everthread.server.server_db import Location, open_database

FREE_FAILURES: Mapping[str, int] = {"pair": 5, "address": 20, "name": 100}  # before the first wait
MAX_WAIT_S = 900.0  # seconds; the waits before double from one second
MEMORY_S = 86_400.0  # after which failures are forgotten

SCHEMA = """
CREATE TABLE IF NOT EXISTS failed_sign_in (
    subject BLOB PRIMARY KEY, failures INTEGER NOT NULL, last_at REAL NOT NULL) WITHOUT ROWID;
"""


class SignInLimits:
    """Counts the failed attempts of a server, in all of its processes."""

    def __init__(self, location: Location, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = open_database(location, SCHEMA), clock

    def begin(self, name: str, address: str) -> int:
        """Count an attempt as failed before it is made, so that many at once are limited as well.

        Args:
            name: of the account, which need not exist.
            address: of the client.

        Returns:
            0, or the seconds to wait if the attempt may not be made; then it isn't counted.
        """
        at, subjects = self._clock(), _subjects(name, address)
        with self._file.write() as db:
            db.execute("DELETE FROM failed_sign_in WHERE last_at < ?", (at - MEMORY_S,))
            wait_s = 0.0
            for kind, subject in subjects.items():
                row = db.execute(
                    "SELECT failures, last_at FROM failed_sign_in WHERE subject = ?", (subject,)
                ).fetchone()
                if row is not None:
                    wait_s = max(wait_s, row[1] + wait_after(row[0] - FREE_FAILURES[kind]) - at)
            if wait_s > 0:
                return math.ceil(min(wait_s, MAX_WAIT_S))  # the clock may have been set back
            for subject in subjects.values():
                db.execute(
                    "INSERT INTO failed_sign_in VALUES (?, 1, ?) ON CONFLICT (subject) "
                    "DO UPDATE SET failures = failed_sign_in.failures + 1, last_at = excluded.last_at",
                    (subject, at),
                )
        return 0

    def succeed(self, name: str, address: str) -> None:
        """Forget the failures of an account after an attempt that succeeded.

        The failures of the address are not forgotten: otherwise the owner of one account could try the passwords of
        others without limit.
        """
        subjects = _subjects(name, address)
        with self._file.write() as db:
            db.execute("DELETE FROM failed_sign_in WHERE subject IN (?, ?)", (subjects["pair"], subjects["name"]))
            db.execute(
                "UPDATE failed_sign_in SET failures = failures - 1 WHERE subject = ? AND failures > 0",
                (subjects["address"],),
            )

    def close(self) -> None:
        """Close the connections."""
        self._file.close()


def wait_after(excess_failures: int) -> float:
    """Return the seconds to wait after a failure.

    Args:
        excess_failures: the number of failures beyond the free ones; there is no wait if it is negative.
    """
    return 0.0 if excess_failures < 0 else min(2.0 ** min(excess_failures, 10), MAX_WAIT_S)


def _subjects(name: str, address: str) -> dict[str, bytes]:
    """Return what the attempts are counted by, as hashes: a password may have been typed as a name."""
    parts = {"pair": (name, address), "address": (address,), "name": (name,)}
    return {
        kind: sha256("\0".join((kind, *values)).encode("utf-8", "replace")).digest() for kind, values in parts.items()
    }
