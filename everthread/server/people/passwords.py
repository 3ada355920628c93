"""Passwords: their rules, and their hashes by argon2id."""

from __future__ import annotations

import secrets
import unicodedata
from base64 import b64encode

from argon2 import Parameters, PasswordHasher, profiles
from argon2.exceptions import InvalidHashError, VerificationError

from everthread.errors import BadInput

MIN_CHARS, MAX_CHARS = 10, 1000
LOW_MEMORY = profiles.RFC_9106_LOW_MEMORY  # of RFC 9106: 64 MiB, some 60 ms


class Passwords:
    """Hashes and verifies passwords. Thread-safe."""

    def __init__(self, parameters: Parameters = LOW_MEMORY) -> None:
        """Create a hasher with parameters of argon2."""
        self._hasher = PasswordHasher.from_parameters(parameters)
        self._dummy_hash = _build_dummy_hash(parameters)

    def hash(self, password: str) -> str:
        """Return the hash of a new password.

        Raises:
            BadInput: it is too short or too long.
        """
        return self._hasher.hash(self.check_new(password))

    def check_new(self, password: str) -> str:
        """Check a new password, and return it with its characters composed.

        Raises:
            BadInput: it is too short or too long.
        """
        normalized = unicodedata.normalize("NFKC", password)
        if not MIN_CHARS <= len(normalized) <= MAX_CHARS:
            raise BadInput(
                f"invalid password: got {len(normalized)} characters, expected {MIN_CHARS} to {MAX_CHARS}; "
                "several words are easy to remember",
                reason="password-length",
                values={"least": MIN_CHARS, "most": MAX_CHARS},
            )
        return normalized

    def verify(self, password: str, password_hash: str | None) -> bool:
        """Return whether a password has a hash. It takes as long if there is no hash."""
        normalized = unicodedata.normalize("NFKC", password)
        try:
            is_right = self._hasher.verify(password_hash or self._dummy_hash, normalized)
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return False
        return is_right and password_hash is not None

    def needs_rehash(self, password_hash: str) -> bool:
        """Return whether a hash has other parameters than new ones."""
        return self._hasher.check_needs_rehash(password_hash)


def _build_dummy_hash(parameters: Parameters) -> str:
    """Return a hash that no password has, for names that no account has."""
    salt, digest = (
        b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (parameters.salt_len, parameters.hash_len)
    )
    numbers = f"m={parameters.memory_cost},t={parameters.time_cost},p={parameters.parallelism}"
    return f"$argon2id$v={parameters.version}${numbers}${salt}${digest}"
