"""Writes files atomically: completely or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from everthread.errors import StoreUnavailable


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at any moment it holds either all of the new content or all of the old.

    Raises:
        StoreUnavailable: the file can't be written.
    """
    temporary = path.with_name(f".everthread-{secrets.token_hex(8)}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} can't be written ({error.strerror}); check its folder, or name another"
        ) from error
