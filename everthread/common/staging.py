"""Folders in which files are written before they are moved to their place, so that nothing is half written there, and
for temporary copies."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from everthread.common.file_owner import give_to_owner

try:
    import fcntl
except ImportError:  # Windows, which has no such locks
    fcntl = None  # type: ignore[assignment]

PREFIX = ".everthread-unfinished-"
MAX_AGE_S = 86_400  # without locks, a folder of this age was left by a process that ended


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder, which is removed in the end unless it was renamed. Removes those that killed processes left.

    It is in a locked one, because the lock of a folder of banks has another meaning.

    Raises:
        OSError: it can't be made.
    """
    remove_unfinished(parent)
    outer, lock = _make_locked(parent)
    try:
        path = outer / "files"
        path.mkdir(mode=0o700)
        if hasattr(os, "O_DIRECTORY"):  # not on Windows, where a folder can't be opened
            opened = os.open(path, os.O_RDONLY)
            give_to_owner(opened, parent)
            os.close(opened)
        yield path
    finally:
        shutil.rmtree(outer, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder for copies of what people have said, among the temporary files; it is removed in the end.

    Unlike `tempfile.TemporaryDirectory`, those that killed processes left are removed, too. Raises as `staging_folder`.
    """
    with staging_folder(Path(gettempdir())) as folder:
        yield folder


def remove_scratch() -> None:
    """Remove the scratch folders of processes that were killed."""
    remove_unfinished(Path(gettempdir()))


def remove_unfinished(parent: Path) -> None:
    """Remove the staging folders of processes that were killed; errors are ignored."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it belongs to another user, or its process goes on
            _remove_abandoned(path)


def _make_locked(parent: Path) -> tuple[Path, int | None]:
    """Make a folder that is locked until the process ends or closes the descriptor that is returned with it."""
    while True:
        path = Path(mkdtemp(prefix=PREFIX, dir=parent))
        if not hasattr(fcntl, "flock"):
            return path, None
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():  # before it was locked, another process may have taken it for abandoned
                return path, descriptor
            os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    """Remove a folder unless its process still runs. Raises OSError if it does."""
    if not hasattr(fcntl, "flock"):
        if time.time() - path.stat().st_mtime > MAX_AGE_S:
            shutil.rmtree(path, ignore_errors=True)
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)  # while it is locked, so that its process waits and sees it
    finally:
        os.close(descriptor)
