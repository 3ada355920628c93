"""The file of a bank that was moved to another place: a note in the place of the database, which says where it is.

It replaces the database by one renaming, so that a bank is either here or elsewhere, and every process notices by the
inode of the file, which it compares before each use. A note is shorter than any database of SQLite. The files of banks
that are being moved here are in a folder of their own, by the place that they come from, until that place has a note:

    .everthread-arriving/NAME/alice.bank
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from everthread.stores.errors import bank_moved_error

ARRIVING = ".everthread-arriving"
_MIN_DATABASE_BYTES = 512  # the smallest page of SQLite


def write_note(path: Path, place: str) -> None:
    """Write a note into a new file."""
    with path.open("x", encoding="ascii") as file:
        json.dump({"everthread": "moved", "to": place}, file)
        file.flush()
        os.fsync(file.fileno())


def is_note(path: Path) -> bool:
    """Return whether a file is a note."""
    return read_note(path) is not None


def read_note(path: Path) -> str | None:
    """Return the place that a note names; None for a database, or a missing file."""
    try:
        if not 0 < path.stat().st_size < _MIN_DATABASE_BYTES:  # a database is not opened: that would end its locks
            return None
        value = json.loads(path.read_bytes())
        return str(value["to"]) if value.get("everthread") == "moved" else None
    except (FileNotFoundError, ValueError, AttributeError, KeyError):
        return None


def find_arrival(path: Path) -> tuple[str, Path] | None:
    """Find the copy of a bank that is being moved here, by the path of its file; return its origin and its path."""
    arriving = path.parent / ARRIVING
    found = next(arriving.glob(f"*/{path.name}"), None) if arriving.exists() else None
    return None if found is None else (found.parent.name, found)


def check_here(bank: str, path: Path) -> None:
    """Raise BankMoved if a bank is elsewhere."""
    place = read_note(path)
    if place is None and path.exists():
        return
    if (arrival := find_arrival(path)) is not None:
        raise bank_moved_error(bank, str(path.parent), arrival[0], is_arriving=True)
    if place is not None:
        raise bank_moved_error(bank, str(path.parent), place)
