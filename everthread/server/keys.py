"""API keys: which verbs they allow, for which banks. A key is shown once and stored as a hash.

A key is 256 random bits, so it can't be guessed from its hash, however fast the hash is: SHA-256 is sufficient, where
a password, which people choose, would need a slow one.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from everthread.common.undo import undo_on_error
from everthread.errors import BadInput, ConfigError, NotFound, StoreUnavailable
from everthread.server.server_db import Location, open_database
from everthread.stores.limits import check_bank_id
from everthread.types import now

Verb = Literal["read", "write", "chat", "forget"]
VERBS: tuple[Verb, ...] = get_args(Verb)
KEY_PREFIX = "et_"  # makes a key that leaked into a log or a repository recognisable
ALL_BANKS = "*"  # including future ones
SUBTREE_SUFFIX = "/*"
SECRET_BYTES = 32  # random
MAX_NAME_CHARS = 100

SCHEMA = """CREATE TABLE IF NOT EXISTS key (
    hash BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE, banks TEXT NOT NULL, verbs TEXT NOT NULL,
    made_on TEXT NOT NULL, used_on TEXT) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The permissions of a key. banks are ids, `alice/*` for all below alice, or `*` for all."""

    name: str
    banks: tuple[str, ...]
    verbs: tuple[Verb, ...]
    made_on: date
    used_on: date | None = None

    def allows(self, verb: Verb, bank: str) -> bool:
        """Return whether the key allows the verb for the bank, which need not exist."""
        return verb in self.verbs and any(_covers(scope, bank) for scope in self.banks)

    def allows_everywhere(self, verb: Verb) -> bool:
        """Return whether the key allows the verb for all banks, and so for data that belong to no bank."""
        return verb in self.verbs and ALL_BANKS in self.banks


class KeyStore:
    """Stores the keys of a server. Keys that another process has created or revoked are seen at the next request."""

    def __init__(self, location: Location) -> None:
        self._file = open_database(location, SCHEMA)

    def create(self, name: str, banks: Sequence[str] = (ALL_BANKS,), verbs: Sequence[str] = VERBS) -> str:
        """Create a key.

        Args:
            name: unique; 1 to 100 printable characters.
            banks: scopes.
            verbs: what the key allows.

        Returns:
            The secret, which can't be shown again.

        Raises:
            BadInput: for an invalid or existing name, an invalid scope, or an unknown verb.
        """
        if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise BadInput(
                f"invalid name of a key: got {name[:40]!r}, expected 1 to {MAX_NAME_CHARS} printable characters"
            )
        if unknown := [verb for verb in verbs if verb not in VERBS]:
            raise BadInput(f"unknown verb {unknown[0]!r}; expected one of {', '.join(VERBS)}")
        if not verbs or not banks:
            raise BadInput(f"key {name!r} would allow nothing; name at least one bank and one verb")
        secret = KEY_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        scopes = json.dumps(sorted({_check_scope(bank) for bank in banks}))
        row = (_hash(secret), name, scopes, json.dumps([verb for verb in VERBS if verb in verbs]), _today())
        with self._file.write() as db:
            if db.execute("SELECT 1 FROM key WHERE name = ?", (name,)).fetchone():
                raise BadInput(f"there is a key {name!r}; choose another name, or revoke it first")
            db.execute("INSERT INTO key VALUES (?, ?, ?, ?, ?, NULL)", row)
        return secret

    def create_in(self, path: Path, name: str) -> None:
        """Create a key for everything in a file that only its owner can read.

        Raises:
            ConfigError: if the file exists or can't be created.
            StoreUnavailable: if the key can't be stored; then there is no file either.
        """
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise ConfigError(
                f"no key can be created in {path} ({error.strerror}); name another file, or create a key with "
                "`everthread keys new`"
            ) from None
        with undo_on_error(path.unlink), open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{self.create(name)}\n")

    def list_keys(self) -> list[ApiKey]:
        """List the valid keys by name."""
        with self._file.read() as db:
            rows = db.execute("SELECT * FROM key ORDER BY name").fetchall() if db else []
        return [_parse_row(row) for row in rows]

    def revoke(self, name: str) -> None:
        """Revoke a key.

        Raises:
            NotFound: if there is no key of this name.
        """
        with self._file.write() as db:
            if not name.isprintable() or not db.execute("DELETE FROM key WHERE name = ?", (name,)).rowcount:
                raise NotFound(f"there is no key {name!r}; `everthread keys list` shows all keys")

    def find(self, secret: str) -> ApiKey | None:
        """Return the key with this secret, and record the day of its use; None if it is unknown or revoked."""
        digest = _hash(secret)
        with self._file.read() as db:
            row = db.execute("SELECT * FROM key WHERE hash = ?", (digest,)).fetchone() if db else None
        if row is None or not hmac.compare_digest(row[0], digest):
            return None
        if row[5] != _today():
            self._record_use(digest)
        return _parse_row(row)

    def close(self) -> None:
        """Close the connections."""
        self._file.close()

    def _record_use(self, digest: bytes) -> None:
        with (
            suppress(StoreUnavailable),
            self._file.write(digest.hex()) as db,
        ):  # a key stays valid even if the disk is full
            db.execute("UPDATE key SET used_on = ? WHERE hash = ?", (_today(), digest))


def _covers(scope: str, bank: str) -> bool:
    return scope in (ALL_BANKS, bank) or (scope.endswith(SUBTREE_SUFFIX) and bank.startswith(scope[:-1]))


def _check_scope(bank: str) -> str:
    """Check a scope. Raises BadInput for a `*` that is neither alone nor at the end after a slash."""
    if bank == ALL_BANKS:
        return bank
    if ALL_BANKS in bank.removesuffix(SUBTREE_SUFFIX):
        raise BadInput(f"invalid scope {bank!r} of a key: expected a bank's id, * alone, or * at the end as in alice/*")
    check_bank_id(bank.removesuffix(SUBTREE_SUFFIX))
    return bank


def _parse_row(row: tuple[bytes, str, str, str, str, str | None]) -> ApiKey:
    _, name, banks, verbs, made_on_text, used_on_text = row
    days = date.fromisoformat(made_on_text), date.fromisoformat(used_on_text) if used_on_text else None
    return ApiKey(name, tuple(json.loads(banks)), tuple(json.loads(verbs)), *days)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()


def _today() -> str:
    return now().date().isoformat()
