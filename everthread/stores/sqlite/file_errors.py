"""Translates errors of SQLite and of the system into `EverthreadError`s."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from everthread.errors import BadInput, BankDamaged, EverthreadError, StoreError, StoreUnavailable

LOCK_TIMEOUT_S = 60.0  # for other writers; a write takes milliseconds, so only a stuck process exceeds it

_BANK_DESCRIPTORS = 8  # more than opening a bank needs: its file, its logs and its folder, for one connection or two

# SQLite's primary result codes and the system's error numbers, by remedy.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
_NO_ROOM = {sqlite3.SQLITE_FULL}, {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_FORBIDDEN = (
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH},
    {errno.EACCES, errno.EPERM, errno.EROFS},
)
_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE}
_HELD = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, {errno.EAGAIN}
_OPEN_ELSEWHERE = {32, 33}  # Windows' ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION, which count as EACCES
_NO_FOLDER: tuple[set[int], set[int]] = set(), {errno.EEXIST, errno.ENOTDIR}


@contextmanager
def map_errors(bank: str, path: Path, outcome: str = "") -> Iterator[None]:
    """Translate errors of SQLite and of the system into `EverthreadError`s that name the bank, the file and the remedy.

    Args:
        bank: the bank's id; empty for an operation on the folder.
        path: the file or the folder.
        outcome: a sentence about what a failed write has stored.
    """
    try:
        yield
    except EverthreadError:
        raise
    except (sqlite3.Error, OSError, OverflowError, ValueError) as error:
        explained = _explain(bank, path, error, outcome)
        if isinstance(explained, StoreError):
            explained.bank = bank
        raise explained from error


def _explain(bank: str, path: Path, error: Exception, outcome: str) -> EverthreadError:
    reason = error_text(error)
    place = f"bank {bank!r} ({path})" if bank else str(path)
    if _is_unstorable(error):
        return BadInput(f"no bank can hold this value: {reason}; use whole characters, and numbers that fit in 64 bits")
    if _is_damage(error):
        return BankDamaged(
            f"{place} is damaged: {reason}. Restore a copy, or recover the lines with: sqlite3 {path} .recover"
        )
    if _matches(error, _NO_ROOM) or lacks_room_for_index(error):
        return StoreUnavailable(f"no space to write {place}: {reason}. {outcome}Free disk space and call again")
    if _is_out_of_descriptors(error):
        return StoreUnavailable(
            f"{place} can't be opened: this process has too many files open ({reason}). {outcome}Close memories and "
            "stores that are not in use, pass one store to all of them, or raise the limit, as with: ulimit -n 4096"
        )
    if getattr(error, "winerror", None) in _OPEN_ELSEWHERE:
        return StoreUnavailable(
            f"{place} is open in another program: {reason}. {outcome}End the other programs that use it, such as a "
            "server, a chat or an MCP client, and try again"
        )
    if _matches(error, _FORBIDDEN):
        what = "written" if os.access(path, os.R_OK) or _is_missing(path) else "read"
        return StoreUnavailable(
            f"{place} can't be {what}: {reason}. Check the folder's permissions, or choose another one"
        )
    if is_locked(error):
        return StoreUnavailable(
            f"{place} was locked by another process for over {LOCK_TIMEOUT_S:.0f} s. {outcome}Try again, or end that "
            "process"
        )
    if _matches(error, _NO_FOLDER):
        return StoreUnavailable(f"{place} is a file, not a folder ({reason}); give a folder for the banks")
    return StoreUnavailable(
        f"{place} can't be used: {reason}. {outcome}Check that its disk is healthy and has free space"
    )


def _is_missing(path: Path) -> bool:
    """Return whether a path does not exist, as far as its folders can be searched."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)
    return False


def error_text(error: Exception) -> str:
    """Return the error's text without the path that the system adds."""
    if lacks_room_for_index(error):
        return "no space left for the index of the log"  # SQLite calls it a disk I/O error
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def lacks_room_for_index(error: Exception) -> bool:
    """Return whether the disk is too full to open a bank, for which SQLite makes an index of the log."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE


def is_locked(error: Exception) -> bool:
    """Return whether another connection holds a lock that an operation needs."""
    return _matches(error, _HELD)


def _result_code(error: Exception) -> int | None:
    """Return SQLite's primary result code; None for an error of Python's module itself."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def _matches(error: Exception, kind: tuple[set[int], set[int]]) -> bool:
    return error.errno in kind[1] if isinstance(error, OSError) else _result_code(error) in kind[0]


def _is_out_of_descriptors(error: Exception) -> bool:
    """Return whether the process has too few file descriptors to open a bank, which SQLite does not report."""
    if isinstance(error, OSError):
        return error.errno in _NO_DESCRIPTOR
    if _result_code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}:
        return False
    with ExitStack() as opened:
        try:
            for _ in range(_BANK_DESCRIPTORS):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as refused:
            return refused.errno in _NO_DESCRIPTOR
    return False


def _is_unstorable(error: Exception) -> bool:
    """Return whether the value caused the error: half a surrogate pair, or a number or a text that is too large."""
    is_large_number = isinstance(error, OverflowError) and not _is_invalid_date(error)  # has no result code
    return isinstance(error, UnicodeEncodeError) or is_large_number or _result_code(error) == sqlite3.SQLITE_TOOBIG


def _is_damage(error: Exception) -> bool:
    """Return whether the error shows a damaged file.

    Undecodable text and missing tables have no result code of their own.
    """
    code = _result_code(error)
    is_schema_error = code == sqlite3.SQLITE_ERROR and re.match(
        "no such (table|column|index)|malformed|unsupported", str(error)
    )
    is_undecodable = code is None and isinstance(error, ValueError | sqlite3.OperationalError)
    return bool(code in _DAMAGED or is_schema_error or is_undecodable or _is_invalid_date(error))


def _is_invalid_date(error: Exception) -> bool:
    """Return whether a stored time is outside the calendar. Times are checked before they are written."""
    return isinstance(error, OverflowError) and "date" in str(error)
