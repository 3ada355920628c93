"""Records in the database which process holds in-memory state for a bank, for all servers of one database.

A lease (`bank_leases`) excludes the other workers of one machine; a claim excludes all other processes, wherever they
run. A process renews its row in the database every few seconds. If it was killed, or can't reach the database for
LIFETIME_S, its claims no longer count, and the next process takes them over.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from hashlib import sha256

from everthread.errors import EverthreadError, StoreUnavailable
from everthread.server.server_db import ServerDatabase

log = logging.getLogger("everthread.server")

LIFETIME_S = 15.0  # of claims without a sign of life of their process
BEAT_S = 3.0  # between two signs of life

ALIVE = "seen_at > clock_timestamp() - make_interval(secs => ?)"
ACQUIRE = f"""
INSERT INTO claim (bank, server) SELECT ?, id FROM server WHERE id = ?
ON CONFLICT (bank) DO UPDATE SET server = excluded.server
WHERE claim.server = excluded.server OR NOT EXISTS (SELECT 1 FROM server WHERE id = claim.server AND {ALIVE})
"""
IS_KNOWN = "SELECT 1 FROM server WHERE id = ?"
FIND_OTHER = f"SELECT 1 FROM claim JOIN server ON id = server WHERE bank = ? AND server <> ? AND {ALIVE}"


class BankClaims:
    """The claims of one process. Thread-safe. Methods raise StoreUnavailable if the database can't be used."""

    def __init__(self, tables: ServerDatabase, lifetime_s: float = LIFETIME_S) -> None:
        """Claim nothing yet.

        Args:
            tables: the server's own data in the database.
            lifetime_s: see LIFETIME_S; the same for all processes.
        """
        self.id = secrets.token_hex(16)
        self._tables, self._lifetime_s = tables, lifetime_s
        self._claimed = set[bytes]()
        self._unreleased = set[bytes]()  # claims that could not be released yet
        self._beaten_at = float("-inf")
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self, bank: str) -> bool:
        """Claim a bank. Return whether this process has it, which it may have had before."""
        self._ensure_alive()
        digest = _digest(bank)
        if digest in self._unreleased:
            return False  # until the next sign of life has released it
        has_claim, is_known = self._claim(digest)
        if not is_known:  # others have removed this process, which was suspended
            self.beat()
            has_claim, _ = self._claim(digest)
        if has_claim:
            self._claimed.add(digest)
        return has_claim

    def release(self, bank: str) -> None:
        """Give up the claim of a bank; if the database can't be reached, as soon as it can. Raises nothing."""
        digest = _digest(bank)
        self._claimed.discard(digest)
        try:
            self._delete(digest)
        except StoreUnavailable:
            self._unreleased.add(digest)

    def is_held_elsewhere(self, bank: str) -> bool:
        """Return whether another process holds a bank."""
        with self._tables.read() as db:
            row = db.execute(FIND_OTHER, (_digest(bank), self.id, self._lifetime_s)).fetchone() if db else None
        return row is not None

    def close(self) -> None:
        """Give up all claims. Raises nothing."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        if self._beaten_at == float("-inf"):
            return  # nothing was ever claimed
        try:
            with self._tables.write(self.id) as db:
                db.execute("DELETE FROM server WHERE id = ?", (self.id,))
        except StoreUnavailable as error:
            log.warning("other servers take over the banks of this one in %g seconds: %s", self._lifetime_s, error)

    def beat(self) -> None:
        """Give a sign of life, and remove processes that have given none for too long."""
        began_at = time.monotonic()
        for digest in list(self._unreleased):
            self._delete(digest)
            self._unreleased.discard(digest)
        with self._tables.write(self.id) as db:
            was_known = db.execute(IS_KNOWN, (self.id,)).fetchone() is not None
            db.execute(
                "INSERT INTO server (id, seen_at) VALUES (?, clock_timestamp()) "
                "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
                (self.id,),
            )
        for digest in () if was_known else list(self._claimed):  # which were removed with this process
            has_claim, _ = self._claim(digest)
            if has_claim and digest not in self._claimed:  # released in the meantime
                self._delete(digest)
        self._beaten_at = began_at
        with self._tables.write() as db:  # not in the same transaction: two processes could wait for each other's row
            db.execute(f"DELETE FROM server WHERE NOT ({ALIVE})", (self._lifetime_s,))

    def _claim(self, digest: bytes) -> tuple[bool, bool]:
        """Claim a bank. Return whether that succeeds, and whether this process still has its row."""
        with self._tables.write(digest.hex()) as db:
            has_claim = db.execute(ACQUIRE, (digest, self.id, self._lifetime_s)).rowcount > 0
            return has_claim, has_claim or db.execute(IS_KNOWN, (self.id,)).fetchone() is not None

    def _delete(self, digest: bytes) -> None:
        with self._tables.write(digest.hex()) as db:
            db.execute("DELETE FROM claim WHERE bank = ? AND server = ?", (digest, self.id))

    def _ensure_alive(self) -> None:
        """Give a sign of life if the last one is too old, so that a new claim counts."""
        with self._lock:
            if time.monotonic() - self._beaten_at > 2 * BEAT_S * self._lifetime_s / LIFETIME_S:
                self.beat()
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._keep_alive, name="everthread claims", daemon=True)
                self._thread.start()

    def _keep_alive(self) -> None:
        while not self._closed.wait(BEAT_S * self._lifetime_s / LIFETIME_S):
            try:
                self.beat()
            except EverthreadError as error:  # the next may succeed
                log.warning("no sign of life of this server in the database: %s", error)


def _digest(bank: str) -> bytes:
    return sha256(bank.encode("utf-8", "surrogatepass")).digest()
