"""Hashes telephone numbers, so that none is stored."""

from __future__ import annotations

import hmac


class NumberHasher:
    """Hashes telephone numbers with the key of this installation."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def hash(self, number: str) -> str:
        """Return the id of a person: HMAC-SHA256 of the telephone number, which can't be guessed without the key."""
        return hmac.digest(self._key, number.strip().encode(), "sha256").hex()[:40]
