"""Writes files atomically: completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from everthread.common.file_owner import give_to_owner
from everthread.errors import StoreUnavailable


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at any moment it holds either all of the new content or all of the old.

    Raises:
        StoreUnavailable: the file can't be written.
    """
    try:
        with open_atomically(path) as file:
            file.write(content)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} can't be written ({error.strerror}); check its folder, or name another"
        ) from error


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a file whose content replaces that of `path` when the block ends without an error.

    Raises:
        OSError: the file can't be written.
    """
    temporary = path.with_name(f".everthread-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            give_to_owner(file.fileno(), path.parent)
            if path.is_file():
                shutil.copymode(path, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):  # it is renamed, or its own error is raised
            temporary.unlink(missing_ok=True)
