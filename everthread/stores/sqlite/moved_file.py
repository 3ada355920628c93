"""The file of a bank that was moved to another place: a note in the place of the database, which says where it is.

It replaces the database by one renaming, so that a bank is either here or elsewhere, and every process notices by the
inode of the file, which it compares before each use. A note is shorter than any database of SQLite. The file of a bank
that is being moved here is in a folder of its own, until the place that it comes from has a note with the same id:

    .everthread-arriving/NAME MOVE/alice.bank
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from everthread.stores.errors import bank_moved_error

ARRIVING = ".everthread-arriving"
_MIN_DATABASE_BYTES = 512  # the smallest page of SQLite


def write_note(path: Path, place: str, move: str) -> None:
    """Write a note into a new file."""
    with path.open("x", encoding="ascii") as file:
        json.dump({"everthread": "moved", "to": place, "move": move}, file)
        file.flush()
        os.fsync(file.fileno())


def is_note(path: Path) -> bool:
    """Return whether a file is a note."""
    return read_note(path) is not None


def read_note(path: Path) -> tuple[str, str] | None:
    """Return the place that a note names, and the id of the move; None for a database, a folder or a missing file."""
    try:
        if not 0 < path.stat().st_size < _MIN_DATABASE_BYTES:  # a database is not opened: that would end its locks
            return None
        value = json.loads(path.read_bytes())
        return (value["to"], value["move"]) if value.get("everthread") == "moved" else None
    except (FileNotFoundError, IsADirectoryError, ValueError, AttributeError, KeyError):
        return None


def name_arrival(path: Path, origin: str, move: str) -> Path:
    """Return the path of the copy of a bank that is being moved here, from the path of its file."""
    return path.parent / ARRIVING / f"{origin} {move}" / path.name


def parse_arrival(path: Path) -> tuple[str, str]:
    """Return the origin of a copy, and the id of the move."""
    origin, _, move = path.parent.name.partition(" ")
    return origin, move


def find_arrival(path: Path, move: str = "*") -> Path | None:
    """Find the copy of a bank that is being moved here by this move, or by any, by the path of its file."""
    arriving = path.parent / ARRIVING
    return next(arriving.glob(f"* {move}/{path.name}"), None) if arriving.exists() else None


def check_here(bank: str, path: Path) -> None:
    """Raise BankMoved if a bank is elsewhere."""
    note = read_note(path)
    if note is None and path.exists():
        return
    if (arrival := find_arrival(path)) is not None:
        raise bank_moved_error(bank, str(path.parent), *parse_arrival(arrival), is_arriving=True)
    if note is not None:
        raise bank_moved_error(bank, str(path.parent), *note)
