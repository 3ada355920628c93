"""Hashes telephone numbers, so that none is stored. The key of the hash is in a file that only its owner can read."""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from everthread.errors import ConfigError

KEY_FILE = "sms.key"  # next to the banks


class NumberHasher:
    """Hashes telephone numbers with the key of this installation."""

    def __init__(self, folder: Path) -> None:
        """Read the key from a folder; it is created if it is missing.

        Raises:
            ConfigError: if the key can't be read or created.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._secret = _load_secret(folder / KEY_FILE)
        except OSError as error:
            raise ConfigError(f"text messages need a key in {folder}, which can't be used: {error}") from error

    def hash(self, number: str) -> str:
        """Return the id of a person: HMAC-SHA256 of the telephone number, which can't be guessed without the key."""
        return hmac.digest(self._secret, number.strip().encode(), "sha256").hex()[:40]


def _load_secret(path: Path) -> bytes:
    """Read the key from a file, which is created atomically if it is missing."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    secret = path.read_bytes()
    if len(secret) != 32:
        raise OSError(f"invalid key in {path}: got {len(secret)} bytes, expected 32; restore the original file")
    return secret
