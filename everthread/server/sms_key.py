"""The key of the hash of telephone numbers: in the database, or in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from everthread.errors import ConfigError
from everthread.server.server_db import Location
from everthread.server.shared_secret import SECRET_BYTES, load_secret

KEY_FILE = "sms.key"  # next to the banks
KEY_TABLE = "sms_secret"


def load_key(location: Location) -> bytes:
    """Return the key of this installation; it is created if it is missing.

    Args:
        location: of the server's own data.

    Raises:
        ConfigError: if the file of the key can't be read or created.
        StoreUnavailable: if the database can't be used.
    """
    if not isinstance(location, Path):
        return load_secret(location, KEY_TABLE)
    folder = location.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / KEY_FILE
        if not path.exists():
            _create_key(path)
        return read_key(path)
    except OSError as error:
        raise ConfigError(f"text messages need a key in {folder}, which can't be used: {error}") from error


def read_key(path: Path) -> bytes:
    """Read the key from a file. Raises OSError."""
    key = path.read_bytes()
    if len(key) != SECRET_BYTES:
        raise OSError(
            f"invalid key in {path}: got {len(key)} bytes, expected {SECRET_BYTES}; restore the original file"
        )
    return key


def _create_key(path: Path) -> None:
    """Write a new key to a file atomically, unless another process does."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
