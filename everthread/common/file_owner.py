"""Gives files that root creates to the owner of their folder, who could not read them otherwise: a server's user."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def give_to_owner(created: int, folder: Path) -> None:
    """Give a new file, as its descriptor, to the owner of a folder if this process runs as root."""
    if sys.platform != "win32" and os.geteuid() == 0:
        with suppress(OSError):  # of a file system without owners
            owner = folder.stat()
            os.fchown(created, owner.st_uid, owner.st_gid)
