"""Keeps uploaded files between their preview and their import: for some minutes, and for the caller who sent them.

The name of a file's folder is a digest of the caller, the bank and the upload's id, so that no other caller finds it.
The files outlive a restart of the server. If a caller has too many of them, the oldest are removed. The lock file
beside each contains a digest of its bank, so that the files of a bank are found when it is forgotten.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from everthread.server.people.accounts import Account
from everthread.server.problems import Problem
from everthread.server.uploads import LOCK_NAME, map_temporary_errors, remove_unopened

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER_PREFIX = "everthread-kept-"  # of the folders' names
KEPT_S = 900.0  # how long a person may think about a preview
MAX_KEPT_FILES = 200  # of one caller
MAX_KEPT_BYTES = 2_000_000_000  # of one caller: two of the largest files
LOCK_PATIENCE_S = 30.0  # for an import that was stopped, which ends with its batch
LOCK_DELAY_S = 0.05  # between two tries


class UploadName(NamedTuple):
    """The names under which an upload is kept: its caller, its bank, and an id that the caller chose."""

    caller: str
    bank: str
    id: str

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return Path(tempfile.gettempdir(), f"{self.prefix}{_digest(*self)}")

    @property
    def prefix(self) -> str:
        """The beginning of the names of all folders of the caller."""
        return f"{FOLDER_PREFIX}{_digest(self.caller)[:16]}-"


def keep(path: Path, name: UploadName) -> None:
    """Move an uploaded file to where `open_kept` finds it."""
    with map_temporary_errors():
        _make_room(name.prefix, path.stat().st_size)
        name.folder.mkdir(mode=0o700, exist_ok=True)
        (name.folder / LOCK_NAME).write_text(_digest(name.bank))
        shutil.move(path, name.folder / path.name)
    _remove_later()


@contextmanager
def open_kept(name: UploadName) -> Iterator[Path]:
    """Yield a kept file, for one import at a time.

    Raises:
        Problem: 404 if it is no longer kept, 409 if an import of it is in progress.
    """
    gone = Problem(404, "upload-gone", "this upload is no longer kept; send the file again")
    try:
        lock = os.open(name.folder / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        raise gone from None
    try:
        _wait_for(lock)
        path = next((path for path in name.folder.glob("*") if path.name != LOCK_NAME), None)
        if path is None:
            raise gone
        yield path
    finally:
        os.close(lock)
        with suppress(OSError):  # `discard` has removed it
            os.utime(name.folder)
            _remove_later()


def discard(name: UploadName) -> None:
    """Remove a kept file, if it is there."""
    shutil.rmtree(name.folder, ignore_errors=True)


def discard_of_bank(bank: str) -> None:
    """Remove the files that callers keep for a bank, because it is forgotten."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # it belongs to another user, or was removed
            if (folder / LOCK_NAME).read_text() == _digest(bank):
                shutil.rmtree(folder)


def discard_of_caller(caller: str) -> None:
    """Remove all files that a caller keeps, because their account is removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{UploadName(caller, '', '').prefix}*"):
        shutil.rmtree(folder, ignore_errors=True)


def name_account(account: Account) -> str:
    """Return the name of an account as a caller."""
    return f"account {account.id}"


def remove_expired() -> None:
    """Remove the files that have been kept for too long."""
    _remove(f"{FOLDER_PREFIX}*", KEPT_S)


def _make_room(prefix: str, size: int) -> None:
    """Remove the oldest files of a caller that leave no room for another one of this size."""
    ages = {folder: _measure(folder) for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*")}
    for count, folder in enumerate(sorted(ages, key=lambda folder: ages[folder][0], reverse=True), 1):
        size += ages[folder][1]
        if size > MAX_KEPT_BYTES or count >= MAX_KEPT_FILES:
            _remove(folder.name, older_than_s=0)


def _measure(folder: Path) -> tuple[float, int]:
    """Return the time at which a folder was last used, and the size of its files."""
    try:
        return folder.stat().st_mtime, sum(path.stat().st_size for path in folder.iterdir())
    except OSError:  # it was removed
        return 0.0, 0


def _remove_later() -> None:
    timer = Timer(KEPT_S + 1, remove_expired)
    timer.daemon = True
    timer.start()


def _remove(pattern: str, older_than_s: float) -> None:
    """Remove the folders of a pattern that are not in use, and were not since this time."""
    for folder in Path(tempfile.gettempdir()).glob(pattern):
        with suppress(OSError):  # it belongs to another user, is in use, or was removed
            if time.time() - folder.lstat().st_mtime < older_than_s:
                continue
            if not hasattr(fcntl, "flock"):
                remove_unopened(folder)
                continue
            lock = os.open(folder / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


def _wait_for(lock: int) -> None:
    """Lock an open file. Raises Problem if another import keeps it locked."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Problem(409, "in-progress", "this file is being imported; wait for it to finish") from None
            time.sleep(LOCK_DELAY_S)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]
